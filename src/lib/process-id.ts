/** This process among those of the installation (hot.process). */
import { randomUUID } from 'node:crypto';

export const PROCESS_ID = randomUUID();

/** A heartbeat comes every three seconds. After four missed ones the others use what this process shared with them. */
export const GONE_SECONDS = 12;
