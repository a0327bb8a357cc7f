/** Parsers of short texts from anybody: addresses, tokens, cookies, records of the DNS, rules of segments, lines of imports. */
import { buildSchema } from 'graphql';
import { parseWithinLimits } from '../../src/schema/document-limits.ts';
import { DOCUMENT_CHARACTERS_MAX } from '../../src/schema/limits.ts';
import { sessionOf } from '../../src/domain/accounts/session-cookie.ts';
import { CsvReader, RECORD_BYTES_MAX } from '../../src/domain/audience/imports/csv-reader.ts';
import { parseRule } from '../../src/domain/audience/segments/parse-rule.ts';
import { bareAddress } from '../../src/domain/content/mail-address.ts';
import { asciiAddress, cleanAddress } from '../../src/domain/content/web-address.ts';
import { returnPathsIn } from '../../src/domain/tracking/return-path.ts';
import { checkSpf } from '../../src/domain/sending/domains/spf.ts';
import { isDmarc, parseDmarc } from '../../src/domain/sending/domains/dmarc-record.ts';
import { domainName } from '../../src/domain/sending/domains/sending-domain.ts';
import { LinkKeys } from '../../src/domain/tracking/link-keys.ts';
import { httpAddress } from '../../src/lib/http-address.ts';
import { emailKey, isEmailAddress, isOneLine, isPlainText } from '../../src/lib/text.ts';
import { parseRateLimit } from '../../src/lib/rate-limit.ts';
import { nearMiss, nested, repeated, type GrowthCase } from './growth.ts';

/** A header, a query, a text field: what a request may hold of one. */
const TEXT_LENGTH_MAX = 65_536;
/** Strings of a TXT record come to no more. */
const RECORD_LENGTH_MAX = 65_535;
const RULE_LENGTH_MAX = 262_144;

/** A file is read piece by piece, and others have their turn between them: 64 KiB are 32 of these. */
const IMPORT_PIECE_MS_MAX = 1_600;

const schema = buildSchema('type Query { a(b: String): String }');
const links = new LinkKeys('bench-secret-'.repeat(4));

export const textCases: readonly GrowthCase[] = [
  {
    name: 'text: address of a mailbox',
    lengthMax: TEXT_LENGTH_MAX,
    parse: (text) => [isEmailAddress(text) && emailKey(text), bareAddress(text), domainName(text)],
    shapes: {
      letters: repeated('a'),
      at: repeated('@'),
      dots: nearMiss('a@', 'a.', '!'),
      hyphens: nearMiss('a@b', '-', '.c'),
      umlauts: nearMiss('ä@', 'ä.', 'c'),
    },
  },
  {
    name: 'text: lines and fields',
    lengthMax: TEXT_LENGTH_MAX,
    parse: (text) => [isOneLine(text), isPlainText(text), parseRateLimit(text)],
    shapes: { spaces: repeated(' '), digits: repeated('1'), breaks: nearMiss('', 'a', '\n') },
  },
  {
    name: 'text: web address',
    lengthMax: TEXT_LENGTH_MAX,
    parse: (text) => [httpAddress(text), asciiAddress(cleanAddress(text))],
    shapes: {
      dots: nearMiss('http://', 'a.', '!'),
      percents: nearMiss('http://a.b/', '%', ''),
      brackets: nearMiss('http://a.b/', '[', ']'),
      umlauts: nearMiss('http://a.b/', 'ä', ''),
      spaces: nearMiss('http://a.b/', ' ', 'x'),
      'steps up': nearMiss('http://a.b/', 'a/../', ''),
    },
  },
  {
    name: 'text: token of a link',
    lengthMax: TEXT_LENGTH_MAX,
    parse: (text) => links.read('click', text),
    shapes: { letters: repeated('A'), signs: repeated('-_') },
  },
  {
    name: 'text: marks in a report',
    lengthMax: TEXT_LENGTH_MAX,
    parse: (text) => returnPathsIn(text),
    shapes: { at: repeated('bounce@'), plus: repeated('b+'), letters: nearMiss('', 'a', '@b.example') },
  },
  {
    name: 'text: cookies',
    lengthMax: TEXT_LENGTH_MAX,
    parse: (cookie) => sessionOf({ cookie, origin: 'https://a.example', host: 'a.example' }, 'https://a.example'),
    shapes: { pairs: repeated('a=b; '), semicolons: repeated(';'), spaces: repeated(' '), equals: repeated('=') },
  },
  {
    name: 'text: records of the DNS',
    lengthMax: RECORD_LENGTH_MAX,
    parse: async (text) => {
      // The answer to one question: between two questions, others have their turn.
      let isAsked = false;
      const ask = () => {
        const answer = isAsked
          ? ({ status: 'none', exists: true } as const)
          : ({ status: 'found', values: [text] } as const);
        isAsked = true;
        return Promise.resolve(answer);
      };
      return [isDmarc(text) && parseDmarc(text), await checkSpf(ask, 'a.example', ['include:b.example'])];
    },
    shapes: {
      'terms of SPF': nearMiss('v=spf1 ', 'a ', '-all'),
      'includes of SPF': nearMiss('v=spf1 ', 'include:a.example ', '-all'),
      'tags of DMARC': nearMiss('v=DMARC1; ', 'p=none;', ''),
      'addresses of DMARC': nearMiss('v=DMARC1; rua=', 'mailto:a@b.c,', ''),
      'one address of DMARC': nearMiss('v=DMARC1; rua=mailto:a@', 'b.', '!'),
      blanks: nearMiss('v=DMARC1;', ' ', 'p'),
    },
  },
  {
    name: 'text: rule of a segment',
    lengthMax: RULE_LENGTH_MAX,
    parse: (text) => parseRule(JSON.parse(text)),
    shapes: {
      'groups in groups': (length) => nested('{"all":[', ']}', '{}')(Math.min(length, 20_000)),
      conditions: (length) => `{"all":[${repeated('{"tag":{"is":"a"}},')(length)}{}]}`,
      'unknown names': (length) => `{"all":[${repeated('{"x":{}},')(length)}{}]}`,
      'a long value': (length) => `{"all":[{"email":{"is":"${repeated('a@')(length)}"}}]}`,
    },
  },
  {
    name: 'text: document of GraphQL',
    lengthMax: DOCUMENT_CHARACTERS_MAX,
    parse: (text) => parseWithinLimits(schema, text),
    shapes: {
      braces: repeated('{'),
      fields: nearMiss('{', 'a ', '}'),
      aliases: nearMiss('{', 'a:b ', '}'),
      strings: nearMiss('{a(b:"', 'x', '")}'),
      blocks: nearMiss('{a(b:"""', '\\"""', '""")}'),
      fragments: repeated('fragment a on B{c} '),
      lists: nearMiss('{a(b:', '[', ')}'),
      comments: repeated('#\n'),
    },
  },
  {
    name: 'text: file of an import',
    lengthMax: 2 * RECORD_BYTES_MAX,
    // A piece of a file of any length.
    parse: (text) => [...new CsvReader({ separator: ',' }).push(Buffer.from(text), true)].length,
    boundMs: IMPORT_PIECE_MS_MAX,
    shapes: {
      commas: repeated(','),
      quotes: repeated('"'),
      'one open quote': nearMiss('"', 'a\n', ''),
      'open quotes': repeated('"a\n'),
      'open quotes in lines': repeated('a,"b\n'),
      'quotes that close and open': repeated('a","\n'),
      'quotes that close nothing': repeated('"a" b\n'),
      'one long line': nearMiss('a', 'x', '\nb'),
    },
  },
];
