/**
 * How the time of every parser of foreign input grows with what it is given, up to the longest that it takes, in hostile shapes:
 * at most 2.5 times for twice the text, and within the bound. Fails where one does not.
 *
 *   node bench/growth.ts [--smoke] [--only POP3]
 *
 * Bodies, queries and cookies of requests are in growth-http.ts.
 */
import { parseArgs } from 'node:util';
import { answerCases } from './support/growth-answers.ts';
import { contentCases } from './support/growth-content.ts';
import { mailCases } from './support/growth-mail.ts';
import { textCases } from './support/growth-texts.ts';
import { measureGrowth } from './support/growth.ts';

const { values } = parseArgs({ options: { smoke: { type: 'boolean' }, only: { type: 'string', default: '' } } });
const cases = [...textCases, ...answerCases, ...mailCases, ...contentCases].filter(({ name }) =>
  name.includes(values.only),
);

const faults = await measureGrowth(cases, { isShort: values.smoke ?? false });
for (const fault of faults) console.error(`FAULT ${fault}`);
if (faults.length > 0) process.exitCode = 1;
