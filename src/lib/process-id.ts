/** Names this process among those of the installation (hot.process). */
import { randomUUID } from 'node:crypto';

export const PROCESS_ID = randomUUID();
