/** Parsers of what authors write: html and plain text with merge tags and Liquid. They run in threads that can be stopped. */
import { planMessage } from '../../src/domain/content/plan-message.ts';
import { NO_CONTACT, HTML_BYTES_MAX, PLAIN_LENGTH_MAX } from '../../src/domain/content/message.ts';
import type { PlanSource } from '../../src/domain/content/message-plan.ts';
import { compileQuotedPrintable } from '../../src/domain/content/quoted-printable.ts';
import { liquidContext, liquidEngine, parseLiquid, renderLiquid } from '../../src/domain/content/liquid-engine.ts';
import { nearMiss, nested, repeated, whole, type GrowthCase } from './growth.ts';

/** The limits of the threads (plan-thread.ts, liquid-thread.ts): nobody else waits for them. A message of the longest kind ends none. */
const PLAN_CPU_MS_MAX = 6_000;
const LIQUID_CPU_MS_MAX = 250;
/** What is done with a message of the documented length on the main thread. */
const LONGEST_MESSAGE_MS_MAX = 200;
/** `LIQUID_SOURCE_LENGTH_MAX` of liquid-engine.ts. */
const LIQUID_LENGTH_MAX = 262_144;

const source: PlanSource = {
  kind: 'marketing',
  customerUid: 'c000000000001',
  campaign: { uid: 'a000000000001', name: 'Spring' },
  list: {
    uid: 'b000000000001',
    name: 'Friends',
    contact: { ...NO_CONTACT, address1: 'High Street 1', city: 'Springfield' },
  },
  from: { name: 'Shop', email: 'news@shop.example' },
  replyTo: null,
  subject: 'News',
  html: null,
  plain: null,
  trackOpens: true,
  trackClicks: true,
  fieldDefaults: { FIRST_NAME: 'friend' },
  images: [],
};

export const contentCases: readonly GrowthCase[] = [
  {
    name: 'content: html',
    lengthMax: HTML_BYTES_MAX,
    boundMs: PLAN_CPU_MS_MAX,
    parse: (html) => planMessage({ ...source, html }),
    shapes: {
      breaks: repeated('<br>w'),
      paragraphs: repeated('<p>w</p>'),
      cells: repeated('<table><tr><td>w</td></tr></table>'),
      attributes: nearMiss('<a ', 'a=b ', '>'),
      comments: repeated('<!--'),
      'signs of tags': repeated('<'),
      entities: repeated('&amp;'),
      'spaces in pre': nearMiss('<pre>', ' ', 'x'),
      'dots behind an address': nearMiss('http://a.b/', '.', 'a'),
      'links to nowhere': repeated('<a href="http:// ">x</a>'),
      'links to mailboxes': repeated('<a href="mailto:a@b.example">x</a>'),
      quotations: (length) => `${'<blockquote>'.repeat(900)}${repeated('<br>w')(Math.max(0, length - 10_800))}`,
      lists: (length) => `${'<ul><li>'.repeat(600)}${repeated('<br>w')(Math.max(0, length - 4_800))}`,
      'links in links': (length) => `${'<a href="x">'.repeat(900)}${repeated('word ')(Math.max(0, length - 10_800))}`,
      'ends of what is not open': (length) => `${'<div>'.repeat(900)}${repeated('</b>')(Math.max(0, length - 4_500))}`,
      boxes: (length) => nested('<div>', '</div>', 'x')(Math.min(length, 10_000)),
      pictures: repeated('cid:a '),
      Outlook: repeated('<!--[if mso]>x<![endif]-->'),
    },
  },
  {
    name: 'content: plain text',
    lengthMax: PLAIN_LENGTH_MAX,
    boundMs: PLAN_CPU_MS_MAX,
    parse: (plain) => planMessage({ ...source, plain }),
    shapes: {
      dots: nearMiss('http://a.b/', '.', 'a'),
      brackets: nearMiss('http://a.b/', '(', ')'),
      addresses: repeated('http:// '),
      braces: repeated('{'),
      'open tags': repeated('{{'),
      quotes: nearMiss('{{', '"', '}}'),
      tags: (length) => repeated('{FIRST_NAME} ')(Math.min(length, 60_000)),
    },
  },
  {
    name: 'content: quoted-printable',
    lengthMax: HTML_BYTES_MAX,
    boundMs: LONGEST_MESSAGE_MS_MAX,
    parse: (text) => compileQuotedPrintable([text]),
    shapes: {
      words: repeated('word '),
      lines: repeated('w\n'),
      umlauts: repeated('ä'),
      spaces: repeated(' '),
      signs: repeated('='),
    },
  },
  {
    name: 'content: Liquid',
    lengthMax: LIQUID_LENGTH_MAX,
    endedAtMs: LIQUID_CPU_MS_MAX,
    parse: (text) => {
      const engine = liquidEngine(true);
      const templates = parseLiquid(engine, text, 'html');
      return renderLiquid(engine, { templates, context: liquidContext(engine, {}), part: 'html' });
    },
    shapes: {
      outputs: whole('{{ x }}'),
      blocks: (length) => nested('{% if x %}', '{% endif %}')(Math.min(length, 16_000)),
      filters: nearMiss('{{ x ', '| upcase ', '}}'),
      brackets: nearMiss('{{ x', '[0]', '}}'),
      strings: nearMiss('{{ "', 'a', '" }}'),
      openings: repeated('{%'),
    },
  },
];
