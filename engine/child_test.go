package engine_test

const childEnv = "TIDEMARK_ENGINE_TEST_CHILD"

func childMain() int { return 0 }
