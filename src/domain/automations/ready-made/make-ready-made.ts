/** Makes an automation of a ready-made flow, with templates of its mails. */
import type { Context } from '../../context.ts';
import { importDocument, type ImportOptions } from '../documents/import-automation.ts';
import { readyMadeFlow } from './ready-made-flows.ts';

/** As `importAutomation`; throws `READY_MADE_FLOW_NOT_FOUND` for a name that none has. */
export async function makeReadyMade(
  ctx: Context,
  { readyMade, ...options }: ImportOptions & { readonly readyMade: string },
): Promise<{ uid: string }> {
  return importDocument(ctx, readyMadeFlow(readyMade).document, options);
}
