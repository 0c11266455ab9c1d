const KIB = 1024;
const MIB = 1024 * KIB;

/** A provider's event, encoded, in bytes; beyond it EVENT_TOO_LARGE (text deltas are split instead). */
export const MAX_EVENT_BYTES = 256 * KIB;
/** A StartExecution or SendInput message, in bytes. */
export const MAX_REQUEST_BYTES = MIB;
/** The events of one WatchEvents frame, in bytes. */
export const MAX_FRAME_BYTES = MIB - 4 * KIB;
/** The items of one frame of a view, in bytes; a single item may be larger. */
export const MAX_VIEW_BYTES = 2 * MIB;
/** `final_output`, `partial_output` and the runtime's `output_text_done.text`, in bytes of UTF-8; longer ones are cut. */
export const MAX_OUTPUT_BYTES = 64 * KIB;
/** A `structured_output`, as JSON, in bytes; beyond it OUTPUT_TOO_LARGE. */
export const MAX_STRUCTURED_BYTES = 64 * KIB;
/** `message`, `cleanup_error` and reasons, in bytes of UTF-8; longer ones are cut. */
export const MAX_MESSAGE_BYTES = 8 * KIB;
/** An ActionRequest, an ActionResponse, an Artifact, encoded, in bytes; beyond it VALIDATION_ERROR. */
export const MAX_DESCRIPTOR_BYTES = 64 * KIB;
/** A provider's resume state, in bytes. */
export const MAX_RESUME_STATE_BYTES = MIB;
/** Inputs that are accepted and neither consumed nor dropped. */
export const MAX_PENDING_INPUTS = 32;
/** Actions that wait behind the open one. */
export const MAX_WAITING_ACTIONS = 64;
/** Characters of an event's `item_id`. */
export const MAX_ITEM_ID_LENGTH = 200;
/** Characters of an idempotency key. */
export const MAX_KEY_LENGTH = 200;
