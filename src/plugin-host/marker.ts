/** The places of the marker: numbers in memory that the main thread writes and the thread that watches it reads. */
export const MARKER_PLUGIN = 0;
/** Changes with every call, so that two short calls do not look like one long one. */
export const MARKER_CALLS = 1;
/** Changes when the event loop comes round. */
export const MARKER_TICK = 2;
export const MARKER_LENGTH = 3;
