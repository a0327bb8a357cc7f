/** Addresses of previews: read until they expire, and by nobody else's secret. */
import { expect, test } from 'vitest';
import { PREVIEW_MINUTES, previewLink, readPreviewLink } from '../../../src/domain/campaigns/preview-link.ts';
import { readPreviewPage } from '../../../src/domain/campaigns/read-preview-page.ts';
import { campaignWorld } from '../../support/campaign-world.ts';
import { createTestContext } from '../../support/test-context.ts';

const root = await createTestContext();
const { ctx, campaignUid } = await campaignWorld(root, { recipients: 0, smtpPort: 1 });
const { url } = previewLink(ctx, { campaignUid, subscriberId: null });
const token = url.slice(url.lastIndexOf('/') + 1);
const later = (minutes: number) => ({
  ...root,
  clock: { now: () => new Date(Date.now() + minutes * 60_000) },
});

test('it names who asked, with the right to read campaigns alone, and what is shown', () => {
  const { viewer, ...shown } = readPreviewLink(root, token) ?? {};
  expect(viewer).toEqual({ ...ctx.viewer, isAdmin: false, scopes: ['campaigns:read'] });
  expect(shown).toMatchObject({ campaignUid, subscriber: null });
});

test('it expires, and is of no use to another installation', async () => {
  expect((await readPreviewPage(later(PREVIEW_MINUTES + 1), token)).kind).toBe('expired');
  const other = { ...root, installation: { ...root.installation, secret: 'x'.repeat(64) } };
  expect((await readPreviewPage(other, token)).kind).toBe('unknown');
  // Not the last letter: some of its bits may stand for nothing.
  const changed = `${token.slice(0, 9)}${token[9] === 'A' ? 'B' : 'A'}${token.slice(10)}`;
  for (const text of ['', 'A', token.slice(1), changed])
    expect((await readPreviewPage(root, text)).kind).toBe('unknown');
});
