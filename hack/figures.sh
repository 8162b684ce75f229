#!/usr/bin/env bash
# Runs the benchmarks of docs/benchmarks.md one after the other, so that none disturbs another, and prints their lines.
# Every ratio is taken within one run. Takes about eight minutes on two cores.
set -euo pipefail
export TIDEMARK_REQUIRE_REDIS=1

bench() { # package, pattern, time
	printf '\n$ go test %s -run xxx -bench %s -benchtime %s -benchmem\n' "$1" "'$2'" "$3"
	go test "$1" -run xxx -bench "$2" -benchtime "$3" -benchmem | grep -E '^Benchmark|^cpu:|FAIL'
}

bench ./events '^Benchmark(Decode|Encode)$' 1s
bench ./projection '^Benchmark(Apply|DecodeAndApply)$' 1s
bench ./events/eventlog/redislog '^Benchmark(Follow|Read|Stock)$' 10x
bench ./events/eventlog/redislog '^Benchmark(Publish|Append|AppendOne)$' 1s
bench ./store/redis '^Benchmark' 300x
bench ./coordinator '^BenchmarkTriggerToCompleted/tasks=(3|100)$' 300x
bench ./coordinator '^BenchmarkTriggerToCompleted/tasks=1000$' 60x
bench ./coordinator '^BenchmarkTriggerToCompleted/tasks=10000$' 20x
bench ./engine '^Benchmark(Flights|MapFilterMap|Cut)' 2s
