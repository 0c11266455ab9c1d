// usage: npm run bench -- replay | fanout | append | unary | idle | slow | acp
// Each measures the server beside a bare `node:http2` handler that sends the same bytes, in one run, with the load from a
// process of its own: absolute figures move with the machine and its neighbours, the ratios hardly do. `acp` measures the
// provider of agents beside the bare SDK of their protocol.
import { benchAcp } from "./acp.js";
import { benchAppend } from "./append.js";
import { benchFanout } from "./fanout.js";
import { benchIdle } from "./idle.js";
import { benchReplay } from "./replay.js";
import { print } from "./report.js";
import { benchSlow } from "./slow.js";
import { benchUnary } from "./unary.js";

const BENCHES = {
  replay: benchReplay,
  fanout: benchFanout,
  append: benchAppend,
  unary: benchUnary,
  idle: benchIdle,
  slow: benchSlow,
  acp: benchAcp,
};

const [name = ""] = process.argv.slice(2);
if (name in BENCHES) {
  print(await BENCHES[name as keyof typeof BENCHES]());
} else {
  console.error(`usage: npm run bench -- ${Object.keys(BENCHES).join(" | ")}`);
  process.exitCode = 2;
}
