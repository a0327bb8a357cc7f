/**
 * The address of a page that shows a campaign's preview, for a frame of another page. It needs no cookie and contains no API
 * token: what it shows, to whom it was given and until when are sealed in it. It ends with the credential that asked for it.
 */
import { z } from 'zod';
import { deriveKey, seal, unseal } from '../../lib/crypto.ts';
import { subscriberUid } from '../../lib/ids.ts';
import type { Scope } from '../accounts/scopes.ts';
import { viewerOf, type Context, type Viewer } from '../context.ts';

export const PREVIEW_PATH = '/preview';

/** For an editor that shows the frame again after each change; a page that was left open asks for a new address. */
export const PREVIEW_MINUTES = 15;

const PURPOSE = 'preview-page';

export interface PreviewLink {
  readonly url: string;
  readonly expiresAt: Date;
}

const content = z.object({
  customerId: z.coerce.bigint(),
  userId: z.coerce.bigint(),
  userUid: z.string(),
  tokenId: z.coerce.bigint(),
  tokenUid: z.string(),
  tokenKind: z.enum(['primary', 'login', 'named', 'session']),
  campaignUid: z.string(),
  /** Null: sample values. */
  subscriber: z.string().nullable(),
  expiresAt: z.coerce.date(),
});

export interface PreviewLinkContent {
  /** Who asked for it, with the right to read campaigns, and subscribers if it shows one. */
  readonly viewer: Viewer;
  readonly campaignUid: string;
  readonly subscriber: string | null;
  readonly expiresAt: Date;
}

/** A new address for the viewer. */
export function previewLink(
  ctx: Context,
  { campaignUid, subscriberId }: { readonly campaignUid: string; readonly subscriberId: bigint | null },
): PreviewLink {
  const { customerId, userId, userUid, tokenId, tokenUid, tokenKind } = viewerOf(ctx);
  const expiresAt = new Date(ctx.clock.now().getTime() + PREVIEW_MINUTES * 60_000);
  const sealed: Record<keyof z.input<typeof content>, string | null> = {
    ...{ customerId: String(customerId), userId: String(userId), tokenId: String(tokenId) },
    ...{ userUid, tokenUid, tokenKind, campaignUid, expiresAt: expiresAt.toISOString() },
    subscriber: subscriberId === null ? null : subscriberUid(subscriberId),
  };
  const token = seal(keyOf(ctx), JSON.stringify(sealed), PURPOSE).toString('base64url');
  return { url: `${ctx.installation.baseUrl}${PREVIEW_PATH}/${token}`, expiresAt };
}

/** What an address shows; undefined when we did not make it. Whether it has expired is for the caller. Never throws. */
export function readPreviewLink(ctx: Context, token: string): PreviewLinkContent | undefined {
  try {
    const bytes = Buffer.from(token, 'base64url');
    const { campaignUid, subscriber, expiresAt, ...who } = content.parse(
      JSON.parse(unseal(keyOf(ctx), bytes, PURPOSE)),
    );
    const scopes: Scope[] = subscriber === null ? ['campaigns:read'] : ['campaigns:read', 'subscribers:read'];
    return { viewer: { ...who, isAdmin: false, scopes }, campaignUid, subscriber, expiresAt };
  } catch {
    return undefined;
  }
}

function keyOf({ installation }: Context): Buffer {
  return deriveKey(installation.secret, PURPOSE);
}
