// Package job makes a program of a job: a graph as a function of the share that one process works on.
//
//	func main() {
//		job.Main(job.Job{
//			Name: "wordcount",
//			Flags: func(f *pflag.FlagSet) { f.StringVar(&input, "input", "text.txt", "file of text") },
//			Build: func(s job.Share) (*engine.Graph, error) { … },
//		})
//	}
//
// The program has the verbs of our own worker, which is such a program too:
//
//	wordcount run --task 1/3      work on a share until the input ends
//	wordcount health --task 1/3   is the task alive?
//	wordcount config              every setting of run, with its source
//	wordcount version             and completion
//
// Each setting, also the job's own, comes from the first of these that has it:
//
//	flag  >  environment TIDEMARK_<FLAG>  >  REDIS_URL (for --redis only)  >  file (--config, YAML)  >  default
//
// Exit codes: 0 the input has ended, or an orderly shutdown; 1 failed; 2 wrong call or graph, [ErrUsage] and [worker.ErrShare];
// 3 [worker.ErrSuperseded]; 4 [worker.ErrCommit]; 128 + n ended by the second signal n.
//
// A service that runs a job beside other things calls [Run] instead of [Main].
//
//	Main ─► Command ─► run ─┐
//	                  Run ──┴─► Open, Build for a try ─► Redis ─► worker ─► Build, for each attempt
//
// # Invariants
//
//  1. What is wrong with a setting or the graph is said before Redis is asked for.
//  2. What Open returned is called once, when nothing of the run is going on any more.
//  3. Every key belongs to exactly one of n shares ([Share.Owns]), and no two shares write one file ([Share.File]).
//
// # Concurrency
//
// [Run] may be called from any goroutine; Open and Build are called from it, one at a time. Started is called from the goroutine
// that processes, before it does. While a task runs, a goroutine of its own logs how far it has come, and one watches the connection;
// Run joins both. [Main] is called once, by main.
//
// # Failure
//
// That of package worker: whatever crashes or stands still, a restart goes on from the newest completed checkpoint.
//
// # Testing
//
// Jobs run against real coordinators, on a real Redis and in memory, where [Config] takes the log and the store of a test: that is
// also how a job of yours is tested without Redis; see the example.
package job
