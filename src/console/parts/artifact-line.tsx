import type { Artifact } from "../../../gen/ts/harnessruntime/v1/artifact_pb.js";
import { bytes } from "../words/quantity.js";
import { CopyButton } from "./copy-button.js";
import { Icon } from "./icon.js";

/** An artifact's descriptor. Only web addresses are links: others are the provider's to open. */
export function ArtifactLine({ artifact: { name, mediaType, uri, sizeBytes } }: { readonly artifact: Artifact }) {
  const web = /^https?:\/\//i.test(uri);
  return (
    <div class="artifact">
      <Icon name="file" />
      {web ? (
        <a href={uri} target="_blank" rel="noopener noreferrer" dir="auto">
          {name}
        </a>
      ) : (
        <span class="name" dir="auto">
          {name}
        </span>
      )}
      <span class="hint">
        {mediaType}
        {sizeBytes === undefined ? "" : ` · ${bytes(Number(sizeBytes))}`}
      </span>
      {uri === "" || web ? null : <CopyButton what="the artifact's address" text={() => uri} />}
    </div>
  );
}
