//go:build !unix

package tool

import "os/exec"

// ownGroup does nothing: this system has no process groups that we know to use.
func ownGroup(*exec.Cmd) {}

// terminateGroup ends the child: this system has no gentler way.
func terminateGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// killGroup ends the child.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
