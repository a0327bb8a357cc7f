/** Complaints as feedback loops send them (RFC 5965 and what came before), and reports that are none. */
import { crlf, originalHeaders, plainMail, type Original, type Shape } from './bounce-shapes.ts';

interface Loop {
  readonly name: string;
  readonly from: string;
  readonly subject: string;
  readonly feedback: string;
  readonly verdict?: string;
  readonly type?: string;
  /** How much of the message is left. */
  readonly original?: string;
  readonly originalType?: string;
  readonly contentType?: string;
  readonly text?: string;
}

const report = (type: string, more = '') =>
  `Feedback-Type: ${type}\nUser-Agent: SomeGenerator/1.0\nVersion: 1\n${more}`;

function arf(loop: Loop, original: Original): Shape {
  const { from, subject, feedback, originalType = 'message/rfc822' } = loop;
  const raw = `From: ${from}
To: fbl@sender.example
Subject: ${subject}
Date: Sat, 21 Nov 2026 12:00:00 +0000
MIME-Version: 1.0
Content-Type: ${loop.contentType ?? 'multipart/report; report-type=feedback-report'}; boundary="part1_13d.2e68ed54"

--part1_13d.2e68ed54
Content-Type: text/plain; charset="US-ASCII"
Content-Transfer-Encoding: 7bit

${loop.text ?? 'This is an email abuse report for an email message received from IP 192.0.2.7.'}

--part1_13d.2e68ed54
Content-Type: message/feedback-report

${feedback}
--part1_13d.2e68ed54
Content-Type: ${originalType}
Content-Disposition: inline

${loop.original ?? `${originalHeaders(original)}\nSpam Spam Spam\n`}
--part1_13d.2e68ed54--
`;
  return { name: loop.name, verdict: loop.verdict ?? 'complaint', raw: crlf(raw) };
}

export interface ComplaintShape extends Shape {
  /** The id of the message must be found. */
  readonly hasMark: boolean;
}

export function complaintShapes(original: Original, unsubscribeUrl: string): ComplaintShape[] {
  const headers = originalHeaders(original);
  // Outlook's program: the recipient is taken out, the headers of the sender are left.
  const sparse = `X-HmXmrOriginalRecipient: <redacted@hotmail.example>\nX-MS-Exchange-EOPDirect: true\nReceived: from mail.sender.example ([192.0.2.7]) by a.protection.example\nFrom: News <reported@sender.example>\nSubject: Our reported\nMessage-ID: ${original.messageId}\nDate: Sat, 21 Nov 2026 10:00:00 +0000\n`;
  const onlyLink = `From: News <reported@sender.example>\nTo: redacted\nSubject: Our reported\nList-Unsubscribe: <mailto:stop@sender.example>,\n <${unsubscribeUrl}>\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\n`;
  const loops: Loop[] = [
    { name: 'minimal', from: 'abusedesk@example.com', subject: 'FW: Earn money', feedback: report('abuse') },
    {
      name: 'full',
      from: 'abusedesk@example.com',
      subject: 'FW: Earn money',
      feedback: report(
        'abuse',
        `Original-Mail-From: <${original.returnPath}>\nOriginal-Rcpt-To: <${original.to}>\nArrival-Date: Sat, 21 Nov 2026 10:00:00 +0000\nReporting-MTA: dns; mail.example.com\nSource-IP: 192.0.2.7\nAuthentication-Results: mail.example.com; dkim=pass\nReported-Domain: sender.example\nReported-URI: http://sender.example/\n`,
      ),
    },
    {
      name: 'aol',
      from: 'scomp@aol.example',
      subject: 'Email Feedback Report for IP 192.0.2.7',
      feedback: report('abuse', 'Source-IP: 192.0.2.7\nRedacted-Address: redacted\n'),
    },
    {
      name: 'yahoo',
      from: 'feedback@arf.mail.yahoo.example',
      subject: 'FW:Our news',
      feedback: report(
        'abuse',
        'Original-Mail-From: <x@sender.example>\nOriginal-Rcpt-To: redacted@yahoo.example\nReceived-Date: Sat, 21 Nov 2026 10:00:00 PST\n',
      ),
    },
    {
      name: 'comcast',
      from: 'feedbackloop@fbl.comcast.example',
      subject: 'Abuse Report',
      feedback: report('abuse', 'Removal-Recipient: redacted\n'),
    },
    {
      name: 'headers only',
      from: 'fbl@provider.example',
      subject: 'complaint',
      feedback: report('abuse'),
      originalType: 'text/rfc822-headers',
      original: headers,
    },
    {
      name: 'sparse JMRP',
      from: 'staff@hotmail.example',
      subject: 'complaint about message from 192.0.2.7',
      feedback: report('abuse', 'Source-IP: 192.0.2.7\n'),
      original: `${sparse}\n`,
    },
    {
      name: 'id in References only',
      from: 'fbl@provider.example',
      subject: 'complaint',
      feedback: report('abuse'),
      original: `From: reported@sender.example\nReferences: ${original.messageId}\n\n`,
    },
    {
      name: 'return-path only',
      from: 'fbl@provider.example',
      subject: 'complaint',
      feedback: report('abuse'),
      original: `Return-Path: <${original.returnPath}>\nFrom: reported@sender.example\n\n`,
    },
    {
      name: 'original mail from only',
      from: 'fbl@provider.example',
      subject: 'complaint',
      feedback: report('abuse', `Original-Mail-From: ${original.returnPath.toUpperCase()}\n`),
      original: `From: reported@sender.example\n\n`,
    },
    {
      name: 'unsubscribe link only',
      from: 'fbl@provider.example',
      subject: 'complaint',
      feedback: report('abuse'),
      original: `${onlyLink}\n`,
    },
    { name: 'fraud', from: 'fbl@provider.example', subject: 'phishing', feedback: report('fraud') },
    { name: 'virus', from: 'fbl@provider.example', subject: 'virus', feedback: report('virus') },
    { name: 'other', from: 'fbl@provider.example', subject: 'other', feedback: report('other') },
    { name: 'opt-out', from: 'fbl@provider.example', subject: 'opt out', feedback: report('opt-out') },
    { name: 'opt-out-list', from: 'fbl@provider.example', subject: 'opt out', feedback: report('opt-out-list') },
    { name: 'miscategorized', from: 'fbl@provider.example', subject: 'x', feedback: report('miscategorized') },
    { name: 'unknown type', from: 'fbl@provider.example', subject: 'x', feedback: report('x-vendor-complaint') },
    {
      name: 'capital letters',
      from: 'fbl@provider.example',
      subject: 'x',
      feedback: 'FEEDBACK-TYPE: Abuse\nVERSION: 1\n',
    },
    {
      name: 'no type at all',
      from: 'fbl@provider.example',
      subject: 'x',
      feedback: 'Version: 1\nSource-IP: 192.0.2.7\n',
    },
    {
      name: 'folded fields',
      from: 'fbl@provider.example',
      subject: 'x',
      feedback: 'Feedback-Type:\n abuse\nUser-Agent:\n Long Name\n',
    },
    {
      name: 'quoted report type, capital content type',
      from: 'fbl@provider.example',
      subject: 'x',
      feedback: report('abuse'),
      contentType: 'Multipart/Report; Report-Type="feedback-report"',
    },
    {
      name: 'multipart/mixed',
      from: 'fbl@provider.example',
      subject: 'x',
      feedback: report('abuse'),
      contentType: 'multipart/mixed',
    },
    {
      name: 'text that speaks of bounces',
      from: 'MAILER-DAEMON@provider.example',
      subject: 'Undelivered mail',
      feedback: report('abuse'),
      text: '550 5.1.1 user unknown, mailbox full',
    },
    {
      name: 'original in utf-8',
      from: 'fbl@provider.example',
      subject: 'x',
      feedback: report('abuse'),
      originalType: 'message/global',
    },
    {
      name: 'original in base64',
      from: 'fbl@provider.example',
      subject: 'x',
      feedback: report('abuse'),
      originalType: 'message/rfc822\nContent-Transfer-Encoding: base64',
      original: Buffer.from(`${headers}\nSpam\n`).toString('base64').replace(/.{76}/g, '$&\n'),
    },
    {
      name: 'not-spam',
      from: 'fbl@provider.example',
      subject: 'not spam',
      feedback: report('not-spam'),
      verdict: 'none',
    },
    {
      name: 'not-spam in capitals',
      from: 'fbl@provider.example',
      subject: 'not spam',
      feedback: report('NOT-SPAM'),
      verdict: 'none',
    },
    {
      name: 'auth-failure (RFC 6591)',
      from: 'dmarc@provider.example',
      subject: 'auth failure',
      feedback: report('auth-failure', 'Auth-Failure: dkim\n'),
      verdict: 'none',
    },
  ];
  const old = plainMail(
    `From: staff@hotmail.example\nTo: fbl@sender.example\nSubject: complaint about message from 192.0.2.7`,
    '',
  ).replace(
    /Content-Type: [^\n]*\nContent-Transfer-Encoding: 8bit\n\n/,
    `Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: message/rfc822\nContent-Disposition: inline\n\n${sparse}\nSpam\n--b--\n`,
  );
  return [
    ...loops.map((loop) => ({ ...arf(loop, original), hasMark: true })),
    { name: 'JMRP before ARF', verdict: 'complaint', raw: crlf(old), hasMark: true },
    {
      ...arf(
        {
          name: 'nothing of ours left',
          from: 'fbl@provider.example',
          subject: 'x',
          feedback: report('abuse'),
          original: 'From: news@sender.example\n\n',
        },
        original,
      ),
      hasMark: false,
    },
  ];
}
