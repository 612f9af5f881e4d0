//go:build !unix

package tool

import (
	"io"
	"os"
	"os/exec"
)

// shellSupported tells whether the exec tool can be had.
const shellSupported = false

// ownGroup does nothing: this system has no process groups that we know to use.
func ownGroup(*exec.Cmd) {}

// terminateGroup ends the child: this system has no gentler way.
func terminateGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// killGroup ends the child.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// copyNow copies nothing: pipes of this system can't be read without waiting.
func copyNow(io.Writer, *os.File) {}

// exitSignal is empty: this system has no signals.
func exitSignal(*os.ProcessState) string { return "" }
