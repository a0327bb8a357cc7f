/** Parsers of what other mail programs send: replies of servers, and mails that come back. */
import { classifyBounce } from '../../src/domain/bounces/classify-bounce.ts';
import { oneLine } from '../../src/domain/bounces/one-line.ts';
import { readMailReport } from '../../src/domain/bounces/read-mail-report.ts';
import { parseMessage } from '../../src/inbox/parse-message.ts';
import { classifyReply } from '../../src/domain/sending/replies/classify-reply.ts';
import { canonicalMessage } from '../../src/domain/sending/signing/canonical-message.ts';
import { ReplyReader } from '../../plugins/mailwright/smtp/reply.ts';
import { nearMiss, nested, repeated, type GrowthCase } from './growth.ts';

/** What a bounce server takes of one mail; only the first 256 KiB of it are looked at. */
const MAIL_LENGTH_MAX = 1_048_576;
/** A mail of the longest kind, read on the main thread. */
const LONGEST_MAIL_MS_MAX = 200;
/** The inbox parses in a thread, which is ended after so much (read-message.ts). */
const INBOX_CPU_MS_MAX = 5_000;
const REPLY_LENGTH_MAX = 65_536;

const DSN =
  'From: MAILER-DAEMON@x.example\r\nSubject: Undelivered\r\nMIME-Version: 1.0\r\n' +
  'Content-Type: multipart/report; report-type=delivery-status; boundary="b"\r\n\r\n--b\r\n\r\n';
const STATUS = '\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; x\r\n\r\n';
const ARF =
  'From: fbl@x.example\r\nMIME-Version: 1.0\r\nContent-Type: multipart/report; report-type=feedback-report; boundary="b"\r\n\r\n' +
  '--b\r\nContent-Type: message/feedback-report\r\n\r\nFeedback-Type: ';

const mailShapes: GrowthCase['shapes'] = {
  'text of a report': nearMiss(DSN, 'x ', `${STATUS}Action: failed\r\nStatus: 5.1.1\r\n--b--\r\n`),
  'groups of a report': nearMiss(DSN + STATUS, 'Action: delayed\r\nStatus: 4\r\n\r\n', '--b--\r\n'),
  'a diagnostic': nearMiss(`${DSN}${STATUS}Action: failed\r\nDiagnostic-Code: smtp; `, '5.1. ', '\r\n--b--\r\n'),
  'a complaint': nearMiss(ARF, 'a', '\r\n--b--\r\n'),
  headers: nearMiss('From: a\r\n', 'X: y\r\n', '\r\nx'),
  'a folded header': nearMiss('Subject: a', '\r\n b', '\r\n\r\nx'),
  'encoded words': nearMiss('Subject: ', '=?utf-8?q?a?= ', '\r\n\r\nx'),
  addresses: nearMiss('From: ', '"a" <a@b.example>, ', '\r\n\r\nx'),
  'open brackets': nearMiss('From: ', '<', '\r\n\r\nx'),
  'comments of addresses': nearMiss('From: ', '(', '\r\n\r\nx'),
  parameters: nearMiss('Content-Type: text/plain', '; a=b', '\r\n\r\nx'),
  'line breaks': nearMiss('Subject: Returned mail\r\n\r\n', '\r\n', 'x'),
  'signs of a quotation': nearMiss('From: mailer-daemon@x\r\nSubject: Returned mail\r\n\r\n', '\n----', 'x'),
  'near codes': nearMiss('From: mailer-daemon@x\r\nSubject: Returned mail\r\n\r\n', '5.1.', ' x'),
  'near addresses': nearMiss('From: mailer-daemon@x\r\nSubject: Returned mail\r\n\r\n', '<a@', ' x'),
  html: nearMiss('Content-Type: text/html\r\n\r\n', '<style', '>'),
  'quoted-printable': nearMiss('Content-Transfer-Encoding: quoted-printable\r\n\r\n', '=', '\r\n'),
  base64: nearMiss('Content-Transfer-Encoding: base64\r\n\r\n', 'QUJD', '\r\n'),
  boundaries: nearMiss(DSN, '--b\r\n\r\n', '--b--\r\n'),
  'parts in parts': nested('Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n', '--b--\r\n'),
};

export const mailCases: readonly GrowthCase[] = [
  {
    name: 'mail: report that came back',
    lengthMax: MAIL_LENGTH_MAX,
    boundMs: LONGEST_MAIL_MS_MAX,
    parse: (text) => readMailReport(Buffer.from(text)),
    shapes: mailShapes,
  },
  {
    name: 'mail: development inbox',
    lengthMax: MAIL_LENGTH_MAX,
    endedAtMs: INBOX_CPU_MS_MAX,
    parse: (text) => parseMessage(Buffer.from(text)),
    shapes: { ...mailShapes, 'dots behind an address': nearMiss('Subject: a\r\n\r\nhttp://a.b/', '.', 'a') },
  },
  {
    name: 'mail: wording of a bounce',
    lengthMax: 32_768,
    parse: (text) => [classifyBounce({ status: null, text }), oneLine(text)],
    shapes: {
      words: repeated('mailbox '),
      codes: repeated('5.1.'),
      blanks: repeated(' '),
      near: repeated('the recipient domain '),
    },
  },
  {
    name: 'mail: reply of a server',
    lengthMax: REPLY_LENGTH_MAX,
    parse: (text) => {
      new ReplyReader().push(Buffer.from(text), (reply) => classifyReply({ code: reply.code, text: reply.text() }));
      return classifyReply({ text });
    },
    shapes: {
      lines: nearMiss('', '550-a\r\n', '550 b\r\n'),
      'line breaks': nearMiss('550 ', '\n', 'x\r\n'),
      status: nearMiss('550 ', '5.1.1.', '\r\n'),
      mailbox: nearMiss('550 ', 'user mailbox ', '\r\n'),
      at: nearMiss('550 ', 'a@', '\r\n'),
      numbers: nearMiss('550 ', '1.', '\r\n'),
    },
  },
  {
    name: 'mail: what is signed',
    lengthMax: MAIL_LENGTH_MAX,
    parse: (text) => canonicalMessage(Buffer.from(text)),
    shapes: {
      headers: nearMiss('', 'X: y\r\n', '\r\nx'),
      blanks: nearMiss('X: ', ' ', 'y\r\n\r\nx'),
      'empty lines': nearMiss('X: y\r\n\r\n', '\r\n', 'x'),
      'blanks of a body': nearMiss('X: y\r\n\r\n', ' ', 'x'),
    },
  },
];
