package compose_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// rate is slow enough, at 20 000 lines, that the job outlives three crashes: 50 s of work, and each crash takes a
// worker's health check (2 s) and at most a lease.
const rate = "400"

// stack is one running docker-compose.yml.
type stack struct {
	compose []string // the command: docker compose, or docker-compose
	project string
	root    string // of the repository
}

// up starts the services from prebuilt binaries and the local Redis image, and removes them with their volumes when
// the test ends.
func up(t *testing.T) *stack {
	t.Helper()
	if os.Getenv("TIDEMARK_COMPOSE") == "" {
		t.Skip("needs Docker; `make compose-test` runs it")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	s := &stack{
		compose: composeCommand(t),
		project: fmt.Sprintf("tidemark-test-%d", os.Getpid()),
		root:    root,
	}
	t.Cleanup(func() {
		// The test's own context has ended by now.
		ctx := context.WithoutCancel(t.Context())
		if t.Failed() {
			if logs, err := s.try(ctx, "logs", "--no-color", "--timestamps", "--tail", "100"); err == nil {
				t.Logf("the last of the logs:\n%s", logs)
			}
		}
		if _, err := s.try(ctx, "down", "--volumes", "--remove-orphans", "--timeout", "1"); err != nil {
			t.Errorf("take the stack down: %v", err)
		}
	})
	s.run(t, "up", "--build", "--detach")
	return s
}

// composeCommand finds the plugin of newer installations, or the program of older ones.
func composeCommand(t *testing.T) []string {
	t.Helper()
	for _, command := range [][]string{{"docker", "compose"}, {"docker-compose"}} {
		probe := exec.CommandContext(t.Context(), command[0], append(command[1:], "version")...)
		if probe.Run() == nil {
			return command
		}
	}
	t.Fatal("TIDEMARK_COMPOSE is set, but neither docker compose nor docker-compose runs here")
	return nil
}

// try runs one Compose verb and gives its standard output; the error carries standard error.
func (s *stack) try(ctx context.Context, args ...string) ([]byte, error) {
	args = append(append(slices.Clip(s.compose[1:]), "--project-name", s.project), args...)
	cmd := exec.CommandContext(ctx, s.compose[0], args...)
	cmd.Dir = s.root
	cmd.Env = append(os.Environ(), "TIDEMARK_DOCKERFILE=Dockerfile.prebuilt", "TIDEMARK_IMAGE=tidemark:local",
		"REDIS_IMAGE=tidemark-redis:local", "TIDEMARK_RATE="+rate)
	return output(cmd)
}

func (s *stack) run(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := s.try(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// exec runs a command in the container of a service: the CLI, since the image holds nothing else.
func (s *stack) exec(ctx context.Context, service string, command ...string) ([]byte, error) {
	return s.try(ctx, append([]string{"exec", "-T", service}, command...)...)
}

// container is the id of a service's container, also of a stopped one.
func (s *stack) container(t *testing.T, service string) string {
	t.Helper()
	// The label is the same in both Compose generations; `ps --all --quiet SERVICE` is not.
	out := docker(t, "ps", "--all", "--quiet", "--filter", "label=com.docker.compose.project="+s.project,
		"--filter", "label=com.docker.compose.service="+service)
	id := strings.TrimSpace(string(out))
	if id == "" || strings.Contains(id, "\n") {
		t.Fatalf("service %s has containers %q, want one", service, id)
	}
	return id
}

// inspect reads one field of a container's state, as a Go template of docker inspect.
func (s *stack) inspect(t *testing.T, service, template string) string {
	t.Helper()
	return strings.TrimSpace(string(docker(t, "inspect", "--format", template, s.container(t, service))))
}

// crash kills a service's process with SIGKILL and starts it again, as a fresh process in the same container.
// (Docker takes a kill by hand for intended and does not restart it by itself.) A process that has ended already
// fails the test, which would prove nothing then.
func (s *stack) crash(t *testing.T, service string) {
	t.Helper()
	id := s.container(t, service)
	if got := s.inspect(t, service, "{{.State.Status}}"); got != "running" {
		t.Fatalf("%s is %s, too late to kill it", service, got)
	}
	docker(t, "kill", id)
	docker(t, "start", id)
	t.Logf("killed and started %s", service)
}

// awaitHealthy waits until the health check of each service passes.
func (s *stack) awaitHealthy(t *testing.T, limit time.Duration, services ...string) {
	t.Helper()
	for _, service := range services {
		poll(t, limit, service+" is healthy", func() (bool, string) {
			got := s.inspect(t, service, "{{.State.Status}} {{if .State.Health}}{{.State.Health.Status}}{{end}}")
			return got == "running healthy", got
		})
	}
}

// files reads a folder out of a service's container, which may have stopped. The image has no shell and no ls, so
// the folder comes as a tar stream.
func (s *stack) files(t *testing.T, service, folder string) map[string][]byte {
	t.Helper()
	stream := tar.NewReader(bytes.NewReader(docker(t, "cp", s.container(t, service)+":"+folder, "-")))
	files := map[string][]byte{}
	for {
		header, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatalf("read %s of %s: %v", folder, service, err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(stream)
		if err != nil {
			t.Fatalf("read %s of %s: %v", header.Name, service, err)
		}
		// Names start with the folder's own name.
		_, rel, _ := strings.Cut(path.Clean(header.Name), "/")
		files[rel] = content
	}
}

func docker(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := output(exec.CommandContext(t.Context(), "docker", args...))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func output(cmd *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.String())
	}
	return out, nil
}

// poll asks until the answer is yes, and fails the test with the last thing seen when the limit is over. It stands
// where nothing can be waited on: the other side is a container.
func poll(t *testing.T, limit time.Duration, what string, ask func() (done bool, seen string)) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		done, seen := ask()
		if done {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not within %v, last seen %q", what, limit, seen)
		}
	}
}
