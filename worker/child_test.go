package worker_test

const childEnv = "TIDEMARK_WORKER_TEST_CHILD"

func childMain() int { return 2 }
