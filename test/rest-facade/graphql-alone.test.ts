/**
 * What one interface can do, the other can do (README): every root field of the schema is run by a row, or is named here with
 * its reason, and so in the manual (decision D54).
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Kind } from 'graphql';
import { expect, test } from 'vitest';
import { loadDocuments } from '../../src/rest-facade/documents.ts';
import { rows } from '../../src/rest-facade/rows.ts';
import { buildSchema } from '../../src/schema/build-schema.ts';

const BY_CURSOR = 'REST has the same by numbered pages.';
const PAGES = 'For pages of the installation, which use a session; a client of REST has a token.';
const FIGURES = 'Figures for front ends, which choose what they show.';
const WIDER = 'REST runs `unsubscribeFromLists`, which does the same and more.';
const LISTED = 'REST lists all of them.';
const KEPT = 'It happens by itself: for a page on which somebody waits for a vendor.';
const OPERATOR = 'Rare acts of an operator, done by hand.';

const ALONE: Readonly<Record<string, string>> = {
  ...of(BY_CURSOR, [
    'automations',
    'campaigns',
    'customers',
    'files',
    'invoices',
    'lists',
    'segments',
    'segmentSubscribers',
    'templates',
  ]),
  ...of(BY_CURSOR, ['sendingDomains', 'sendingServers', 'subscribers', 'emailVerificationServers', 'verifications']),
  ...of(PAGES, ['changePassword', 'signIn', 'logOut']),
  ...of(FIGURES, ['allowance', 'customerAllowance', 'creditBalances', 'mySubscription', 'campaignLedger']),
  ...of(FIGURES, ['personalDataSummary', 'segmentPreview', 'senderCheck', 'sendingServerTypes', 'deletions', 'file']),
  ...of(FIGURES, ['emailVerificationServerTypes']),
  ...of(KEPT, ['refreshSubscription']),
  ...of(OPERATOR, ['endHold', 'resetTwoFactor', 'setAdministrator', 'setCustomerPace', 'decideUnknownDeliveries']),
  ...of(OPERATOR, ['resumeSubscription', 'discoverPlugins']),
  ...of(LISTED, ['plugin']),
  ...of(WIDER, ['unsubscribeSubscriber']),
};

function of(reason: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, reason]));
}

const schema = buildSchema();
const documents = loadDocuments(schema);
const run = new Set(rows.flatMap((row) => row.operations.flatMap(rootFieldsOf)));
const roots = [schema.getQueryType(), schema.getMutationType()].flatMap((type) => Object.keys(type?.getFields() ?? {}));

function rootFieldsOf(operation: string): string[] {
  const [definition] = documents.get(operation)?.document.definitions ?? [];
  if (definition?.kind !== Kind.OPERATION_DEFINITION) throw new Error(`There is no operation ${operation}.`);
  return definition.selectionSet.selections.flatMap((one) => (one.kind === Kind.FIELD ? [one.name.value] : []));
}

test('every root field has a row, or a reason', () => {
  expect(roots.filter((name) => !run.has(name)).toSorted()).toEqual(Object.keys(ALONE).toSorted());
});

test('the manual names those without a row, with the reason', () => {
  const manual = readFileSync(path.resolve(import.meta.dirname, '../../docs/manual/rest.md'), 'utf8');
  for (const [name, reason] of Object.entries(ALONE)) {
    expect(manual, name).toContain(`\`${name}\``);
    expect(manual, reason).toContain(reason);
  }
});
