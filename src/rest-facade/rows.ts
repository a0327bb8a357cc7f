/** All rows of the REST interface, resource by resource. */
import { campaignRows } from './campaigns/routes.ts';
import { importRows } from './imports/routes.ts';
import type { Row } from './row.ts';
import { listRows } from './lists/routes.ts';
import { sendingServerRows } from './sending-servers/routes.ts';
import { sessionRows } from './session/routes.ts';
import { subscriberRows } from './subscribers/routes.ts';

export const rows: readonly Row[] = [
  ...sessionRows,
  ...campaignRows,
  ...listRows,
  ...importRows,
  ...subscriberRows,
  ...sendingServerRows,
];
