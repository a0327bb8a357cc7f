/** What plugins add to pages, checked when it is added: texts have a length, addresses lead to this installation or to https. */
import { z } from 'zod';
import { isSafeHref, pathWithin } from '../lib/safe-href.ts';
import { checkBy, EntryError, type EntryCheck } from './entry-check.ts';

/** Wider ones break the page of any front end. */
const LABEL_LENGTH_MAX = 200;
/** A menu with more is no menu. */
const ITEMS_MAX = 100;
/** Those of all plugins together. */
const MENU_ITEMS_MAX = 1_000;

export const MESSAGE_KEY = /^[A-Za-z0-9_][\w.-]{0,99}$/;

const text = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(LABEL_LENGTH_MAX, `may have at most ${LABEL_LENGTH_MAX} characters`);
const messageKey = z.strictObject({
  key: z.string().regex(MESSAGE_KEY, 'must be a key of letters, digits, "_", "." and "-", at most 100'),
});

export const labelShape = z.union([text, messageKey], {
  error: `must be a text of 1 to ${LABEL_LENGTH_MAX} characters, or { key } of a translation`,
});
export const audienceShape = z.enum(['customer', 'admin'], { error: 'must be "customer" or "admin"' });

const href = z
  .string()
  .refine(
    isSafeHref,
    'must be a path of this installation such as /plugins/acme/notes/pages/notes, or an https address',
  );

const menuItem = z.strictObject({ label: labelShape, href, audience: audienceShape.optional() });

export const checkMenuItems: EntryCheck = checkBy(
  z.array(menuItem).max(MENU_ITEMS_MAX, `may have at most ${MENU_ITEMS_MAX} items`),
);

export const checkSidebarGroup: EntryCheck = checkBy(
  z.strictObject({
    label: labelShape,
    items: z.array(menuItem).max(ITEMS_MAX, `may have at most ${ITEMS_MAX} items`),
  }),
);

export const checkPageSection: EntryCheck = checkBy(
  z.strictObject({ title: labelShape, href, audience: audienceShape.optional() }),
);

/** Nothing that means something in the policy of a page. */
const ASSET = /^[\w./-]+(?:\?[\w=.&-]*)?$/;

/** A plugin gives its own files only: what runs in our pages is what the administrator has activated. */
export const checkPageAsset: EntryCheck = checkBy(
  z.strictObject({
    kind: z.enum(['script', 'stylesheet'], { error: 'must be "script" or "stylesheet"' }),
    href: z.string(),
    audience: audienceShape.optional(),
  }),
  (asset, { plugin }) => {
    const own = `/plugins/${plugin}/`;
    if (ASSET.test(asset.href) && pathWithin(asset.href)?.startsWith(own)) return asset;
    throw new EntryError(
      `"href": must be the address of a file of the plugin itself, below ${own}, of letters, digits, "_", "." and "-".`,
    );
  },
);
