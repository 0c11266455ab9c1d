// Command wire is a client in Go for the tests of the wire.
//
//	wire follow    for each line {"url", "config"} of standard input: starts an execution of the provider `scripted`,
//	               follows it to its end, and prints {"executionId", "sequences", "text"}
//	wire cases     for each line {"url", "protocol", "token", "calls"}: makes the calls, and prints what came
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

func main() {
	commands := map[string]func(context.Context, []byte) (any, error){"follow": follow, "cases": cases}
	if len(os.Args) != 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: wire follow|cases")
		os.Exit(2)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		result, err := commands[os.Args[1]](ctx, lines.Bytes())
		cancel()
		if err != nil {
			result = map[string]string{"failure": err.Error()}
		}
		if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
			os.Exit(1)
		}
	}
}
