package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// built is the folder of the programs, once there is one.
var built string

// binaries builds both programs, once, when the first test needs them, and returns the folder.
var binaries = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tidemark-e2e-")
	if err != nil {
		return "", err
	}
	built = dir
	args := []string{"build", "-o", dir + string(filepath.Separator)}
	if race {
		args = append(args, "-race")
	}
	const module = "github.com/tidemark-stream/tidemark/cmd/"
	out, err := exec.Command("go", append(args, module+"coordinator", module+"worker")...).CombinedOutput()
	if err != nil {
		return dir, fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		if err := os.RemoveAll(built); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
