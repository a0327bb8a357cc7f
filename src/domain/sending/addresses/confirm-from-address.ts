/** The link in that mail: GET shows the address, POST verifies it. */
import { databaseNow } from '../../../db/now.ts';
import type { Context } from '../../context.ts';
import { findAddressById, markVerified } from './from-address-store.ts';
import { readAddressToken, type FromAddress } from './from-address.ts';

export type AddressLinkState =
  | { readonly kind: 'unknown' | 'expired' }
  | { readonly kind: 'open' | 'verified'; readonly address: FromAddress };

/** The meaning of the link now. */
export async function readAddressLink(ctx: Context, token: string): Promise<AddressLinkState> {
  const read = readAddressToken(ctx.installation, token);
  const address = read && (await findAddressById(ctx.db, read));
  if (!read || !address) return { kind: 'unknown' };
  if (address.verifiedAt !== null) return { kind: 'verified', address };
  return read.expiresAt <= (await databaseNow(ctx.db)) ? { kind: 'expired' } : { kind: 'open', address };
}

/** Verifies the address of the link, if it is still open. */
export async function confirmFromAddress(ctx: Context, token: string): Promise<AddressLinkState> {
  const state = await readAddressLink(ctx, token);
  if (state.kind !== 'open') return state;
  await markVerified(ctx.db, state.address);
  return { kind: 'verified', address: state.address };
}
