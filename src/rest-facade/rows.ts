/** All rows of the REST interface, resource by resource. */
import type { Row } from './endpoint.ts';
import { sendingServerRows } from './sending-servers/routes.ts';
import { sessionRows } from './session/routes.ts';

export const rows: readonly Row[] = [...sessionRows, ...sendingServerRows];
