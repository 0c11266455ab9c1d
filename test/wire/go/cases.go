package main

import (
	"context"
	"errors"
)

func cases(context.Context, []byte) (any, error) {
	return nil, errors.New("not yet")
}
