/** The check of `schema.graphql` against the last release's, run as `npm run schema:check` runs it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { afterFile } from '../support/after-file.ts';
import { runScript } from '../support/run-script.ts';

const folder = mkdtempSync(path.join(os.tmpdir(), 'mailwright-breaking-'));
afterFile(async () => rmSync(folder, { recursive: true }));

const released = `
type Query { campaigns: [Campaign!]! }
type Mutation { startCampaign(uid: String!): Campaign! }
type Campaign {
  preheader: String!
  status: CampaignStatus!
}
enum CampaignStatus {
  "A draft."
  new
  sending
}
`;

async function check(present: string, changelog: string) {
  const files = { 'released.graphql': released, 'present.graphql': present, 'changes.md': changelog };
  const paths = Object.entries(files).map(([name, text]) => {
    const file = path.join(folder, name);
    writeFileSync(file, text);
    return file;
  });
  return runScript('check-breaking-changes', paths, {});
}

const changelogWith = (entry: string, old = '') =>
  `# Changelog\n\n## [0.2.0] - unreleased\n\n### Changed\n\n${entry}\n\n## [0.1.0] - 2026-12-01\n\n${old}\n`;

/** Made-up breaking changes: what is replaced by what, what the check says, and entries that announce it. */
const CHANGES = {
  'a field that is gone': {
    from: '  preheader: String!\n',
    to: '',
    says: 'Field Campaign.preheader was removed.',
    announced: ['`Campaign.preheader`', '`Campaign`'],
  },
  'a field that may be null': {
    from: '  preheader: String!\n',
    to: '  preheader: String\n',
    says: 'Field Campaign.preheader changed type from String! to String.',
    announced: ['`Campaign.preheader`'],
  },
  'an argument of a mutation that is gone': {
    from: 'startCampaign(uid: String!)',
    to: 'startCampaign',
    says: 'Argument Mutation.startCampaign(uid:) was removed.',
    announced: ['`startCampaign`', '`Mutation.startCampaign`'],
  },
  'a word of an enum that is gone': {
    from: '  "A draft."\n  new\n',
    to: '',
    says: 'Enum value CampaignStatus.new was removed.',
    announced: ['`CampaignStatus.new`', '`CampaignStatus`'],
  },
};

describe.each(Object.entries(CHANGES))('%s', (_name, { from, to, says, announced }) => {
  const present = released.replace(from, to);

  test('is refused without a line in the changelog', async () => {
    expect(present).not.toBe(released);
    // A line that does not say "Breaking", one of an older release, and one about something else announce nothing.
    const [name = ''] = announced;
    const silent = changelogWith(
      `- ${name} is different.\n- **Breaking.** \`String\` is shorter.`,
      `- **Breaking.** ${name}`,
    );
    const { code, text } = await check(present, silent);
    expect([code, text]).toEqual([1, expect.stringContaining(`- ${says}`)]);
    expect(text).toContain('**Breaking**');
  });

  test.each(announced)('is accepted with a line that names %s', async (name) => {
    const { code, text } = await check(
      present,
      changelogWith(`- **Breaking** in GraphQL: something is not as it was,\n  see ${name}.`),
    );
    expect([code, text]).toEqual([0, '']);
  });
});

test('additions and other descriptions are no breaking change', async () => {
  const present = released
    .replace('type Campaign {\n', 'type Campaign {\n  "New."\n  extra: String\n')
    .replace('"A draft."', '"Another sentence."');
  expect(present).not.toBe(released);
  expect(await check(present, changelogWith(''))).toEqual({ code: 0, text: '' });
});

test('today the schema breaks nothing that the changelog does not announce', async () => {
  expect(await runScript('check-breaking-changes', [], {})).toEqual({ code: 0, text: '' });
});
