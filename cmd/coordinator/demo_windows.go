package main

import "errors"

var errNoPause = errors.New("this system cannot pause a process")

func (*child) pause() error  { return errNoPause }
func (*child) resume() error { return errNoPause }
