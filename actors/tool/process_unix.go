//go:build unix

package tool

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// shellSupported tells whether the exec tool can be had.
const shellSupported = true

// ownGroup makes a child the leader of a process group of its own.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminateGroup asks the child and what it started to end.
func terminateGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// killGroup ends the child and what it started.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// copyNow copies what is in a pipe, and waits for nothing more. Whoever has read from it before has stopped.
func copyNow(to io.Writer, pipe *os.File) {
	_ = pipe.SetReadDeadline(time.Time{})
	conn, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, 64<<10)
	for range 16 { // as much as a pipe holds: somebody may write to it for ever
		n := 0
		err := conn.Read(func(fd uintptr) bool {
			n, _ = syscall.Read(int(fd), buf) // pipes of ours never block
			return true
		})
		if err != nil || n <= 0 {
			return
		}
		_, _ = to.Write(buf[:n])
	}
}

// signalNames are those of signals that commands die of.
var signalNames = map[syscall.Signal]string{
	syscall.SIGABRT: "SIGABRT", syscall.SIGALRM: "SIGALRM", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE",
	syscall.SIGHUP: "SIGHUP", syscall.SIGILL: "SIGILL", syscall.SIGINT: "SIGINT", syscall.SIGKILL: "SIGKILL",
	syscall.SIGPIPE: "SIGPIPE", syscall.SIGQUIT: "SIGQUIT", syscall.SIGSEGV: "SIGSEGV", syscall.SIGTERM: "SIGTERM",
	syscall.SIGUSR1: "SIGUSR1", syscall.SIGUSR2: "SIGUSR2", syscall.SIGXCPU: "SIGXCPU", syscall.SIGXFSZ: "SIGXFSZ",
}

// exitSignal names the signal that a process has died of, if one was it.
func exitSignal(p *os.ProcessState) string {
	status, ok := p.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return ""
	}
	if name := signalNames[status.Signal()]; name != "" {
		return name
	}
	return "SIG" + strconv.Itoa(int(status.Signal()))
}
