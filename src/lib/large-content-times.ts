/** How long large bodies and answers may wait and take. */

/** A body waits unread for so long, and is refused then. */
export const BODY_WAIT_MS_MAX = 30_000;
/** In which it arrives when it may be read: the largest at 2 Mbit/s. */
export const BODY_READ_MS_MAX = 60_000;
/** An answer waits for memory for so long, and is refused then. */
export const ANSWER_WAIT_MS_MAX = 5_000;
/** In which its client takes it: 32 MB at 4 Mbit/s. */
export const ANSWER_TAKEN_MS_MAX = 60_000;
