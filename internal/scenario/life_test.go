package scenario

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/internal/fakeeditor"
)

// launch starts a server with an editor that has done the handshake.
func launch(t *testing.T, o fakeeditor.Options) (*fakeeditor.Editor, *fakeeditor.Process) {
	t.Helper()
	dir := t.TempDir()
	o.Roots = []string{dir}
	ed, proc, err := fakeeditor.Launch(fakeeditor.Command{
		Path: serverBinary, Args: []string{"serve", "--stdio"}, Dir: dir,
		Env: []string{"HOME=" + dir, "STELLA_HOME=" + filepath.Join(t.TempDir(), "state"), "PATH=/usr/bin:/bin"},
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-proc.Exited():
		default:
			_ = proc.Kill()
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := ed.Initialize(ctx); err != nil {
		t.Fatalf("%v\n%s", err, proc.Stderr())
	}
	return ed, proc
}

// gone waits for the end of the server and returns its exit code.
func gone(t *testing.T, proc *fakeeditor.Process) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err := proc.Wait(ctx)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatalf("the server did not end: %v\n%s", err, proc.Stderr())
	return -1
}

// However the editor goes, the server goes too.
func TestServerEnds(t *testing.T) {
	t.Run("shutdown and exit", func(t *testing.T) {
		t.Parallel()
		ed, proc := launch(t, fakeeditor.Options{})
		if err := ed.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if code := gone(t, proc); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
	t.Run("exit without shutdown", func(t *testing.T) {
		t.Parallel()
		ed, proc := launch(t, fakeeditor.Options{})
		ed.Notify("exit", nil)
		if code := gone(t, proc); code != 1 {
			t.Errorf("exit code %d, the protocol says 1", code)
		}
	})
	t.Run("end of input", func(t *testing.T) {
		t.Parallel()
		ed, proc := launch(t, fakeeditor.Options{})
		ed.CloseInput()
		gone(t, proc)
	})
	t.Run("the editor's process is gone", func(t *testing.T) {
		t.Parallel()
		editor := exec.Command("sleep", "600")
		if err := editor.Start(); err != nil {
			t.Fatal(err)
		}
		_, proc := launch(t, fakeeditor.Options{ProcessID: editor.Process.Pid})
		if err := editor.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = editor.Wait()
		gone(t, proc)
	})
}
