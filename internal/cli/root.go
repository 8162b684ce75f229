package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/internal/settings"
)

// Version is set by the linker (-X …cli.Version=v1.2.3); otherwise the module's or the commit's.
var Version string

// BuildVersion says which build this is.
func BuildVersion() string {
	if Version != "" {
		return Version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "dev-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "dev"
}

// NewRoot returns a root command that resolves every command's flags from their four places before it runs, and has
// the subcommands version, config and (from cobra) completion.
func NewRoot(name, short, long string) *cobra.Command {
	root := &cobra.Command{
		Use: name, Short: short, Long: long, SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			_, err := settings.Apply(cmd.Flags(), knownFlags(cmd.Root()))
			return err
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Usage(err) })
	root.PersistentFlags().String(settings.ConfigFlag, "", "YAML file with settings, keys as the long flag names")
	root.AddCommand(versionCommand(name))
	return root
}

// knownFlags lists all flags of all commands: one file serves them all.
func knownFlags(root *cobra.Command) []string {
	var names []string
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		names = append(names, flagNames(c)...)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return append(names, strings.Split(root.Annotations[elsewhere], ",")...)
}

// elsewhere is the annotation of a root that lists settings of the other program.
const elsewhere = "tidemark_elsewhere"

// KnowSettings lets a file name settings of another program, so that one file serves both.
func KnowSettings(root *cobra.Command, names []string) {
	root.Annotations = map[string]string{elsewhere: strings.Join(names, ",")}
}

func versionCommand(program string) *cobra.Command {
	var out Output
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Example: fmt.Sprintf("  %s version\n  %s version -o json", program, program),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := struct {
				Version string `json:"version"`
				Go      string `json:"go"`
			}{BuildVersion(), runtime.Version()}
			return out.Print(cmd, v, func(p *Printer) { p.Line("%s %s (%s)", cmd.Root().Name(), v.Version, v.Go) })
		},
	}
	out.Flag(cmd)
	return cmd
}

// ConfigCommand returns "config", which prints every setting of the command of that name with its value and source.
func ConfigCommand(program string, of *cobra.Command) *cobra.Command {
	var out Output
	cmd := &cobra.Command{
		Use: "config", Short: fmt.Sprintf("Print the settings of %q, each with where it comes from", of.Name()), Args: cobra.NoArgs,
		Long: fmt.Sprintf(`Print the settings of %q as they are in force here, each with where it comes from: the environment (TIDEMARK_<FLAG>), REDIS_URL,
a file (--config) or the default. Passwords are not shown.`, of.Name()),
		Example: fmt.Sprintf("  %s config\n  TIDEMARK_LOG_LEVEL=debug %s config --config tidemark.yaml -o json", program, program),
		RunE: func(cmd *cobra.Command, _ []string) error {
			of.Flags().AddFlag(cmd.Flags().Lookup(settings.ConfigFlag)) // the root has it, and of was never parsed
			all, err := settings.Apply(of.Flags(), knownFlags(cmd.Root()))
			if err != nil {
				return err
			}
			return out.Print(cmd, all, func(p *Printer) {
				rows := [][]string{{"SETTING", "VALUE", "SOURCE"}}
				for _, s := range all {
					rows = append(rows, []string{s.Name, s.Value, s.Source})
				}
				p.Table(rows)
			})
		},
	}
	out.Flag(cmd)
	return cmd
}
