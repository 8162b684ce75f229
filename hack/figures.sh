#!/usr/bin/env bash
# Runs the benchmarks of docs/benchmarks.md one after the other, so that none disturbs another, and prints their lines.
# Every ratio is taken within one run. Takes about fifteen minutes on two cores; with the argument "engine" or "service" only
# that half.
set -euo pipefail
export TIDEMARK_REQUIRE_REDIS=1

bench() { # package, pattern, time, further flags
	local args=("$1" -run xxx -bench "$2" -benchtime "$3" -benchmem "${@:4}")
	printf '\n$ go test %s\n' "${args[*]}"
	go test "${args[@]}" | grep -E '^Benchmark|^cpu:|FAIL'
}

half="${1:-all}"

if [[ $half != engine ]]; then
	bench ./events '^Benchmark(Decode|Encode)$' 1s
	bench ./projection '^Benchmark(Apply|DecodeAndApply)$' 1s
	bench ./events/eventlog/redislog '^Benchmark(Follow|Read|Stock)$' 10x
	bench ./events/eventlog/redislog '^Benchmark(Publish|Append|AppendOne)$' 1s
	bench ./store/redis '^Benchmark' 300x
	bench ./coordinator '^BenchmarkTriggerToCompleted/tasks=(3|100)$' 300x
	bench ./coordinator '^BenchmarkTriggerToCompleted/tasks=1000$' 60x
	bench ./coordinator '^BenchmarkTriggerToCompleted/tasks=10000$' 20x
fi
if [[ $half != service ]]; then
	bench ./engine '^Benchmark(Flights|Cut$)' 2s
	bench ./engine '^BenchmarkMapFilterMap' 2s -cpu 1,2
	bench ./engine '^BenchmarkCutWait' 300x
	bench ./engine '^Benchmark(Serialise|Restore)' 1s
	bench ./engine '^BenchmarkCutMemory' 1x
	bench ./engine/state '^Benchmark(Upsert|InsertAndDelete|FreezeAndFirstWrites|Encode|Decode|Heap)' 0.5s
	bench ./engine/nexmark '^BenchmarkGenerator' 1s
	bench ./engine/nexmark '^BenchmarkQueries' 1s
fi
