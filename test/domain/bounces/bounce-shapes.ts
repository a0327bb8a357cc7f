/**
 * Bounces as the world's mail programs write them: their shapes, filled with what servers say. The texts are put together
 * from the programs' own phrases; nothing in here was ever sent.
 */

export interface Shape {
  readonly name: string;
  readonly verdict: string;
  readonly raw: string;
}

/** The message that came back, as far as bounces quote it. */
export interface Original {
  readonly messageId: string;
  readonly to: string;
  readonly returnPath: string;
}

interface Saying {
  readonly verdict: 'hard' | 'soft' | 'blocked';
  readonly status: string;
  readonly reply: string;
}

const hard = (status: string, reply: string): Saying => ({ verdict: 'hard', status, reply });
const soft = (status: string, reply: string): Saying => ({ verdict: 'soft', status, reply });
const blocked = (status: string, reply: string): Saying => ({ verdict: 'blocked', status, reply });

/** What the refusing server said; `@` stands for the recipient. */
export const sayings: readonly Saying[] = [
  hard('5.1.1', '550 5.1.1 <@>: Recipient address rejected: User unknown in virtual mailbox table'),
  hard(
    '5.1.1',
    "550-5.1.1 The email account that you tried to reach does not exist. Please try\n 550-5.1.1 double-checking the recipient's email address for typos or\n 550 5.1.1 unnecessary spaces. - gsmtp",
  ),
  hard('5.2.1', '550-5.2.1 The email account that you tried to reach is disabled. - gsmtp'),
  hard(
    '5.5.0',
    '550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302). [BN8NAM04FT045.eop-NAM04.prod.protection.outlook.com]',
  ),
  hard(
    '5.4.1',
    '550 5.4.1 Recipient address rejected: Access denied. AS(201806281) [DB5EUR01FT011.eop-EUR01.prod.protection.outlook.com]',
  ),
  hard('5.1.10', '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient @ not found by SMTP address lookup'),
  hard('5.0.0', "554 delivery error: dd This user doesn't have a yahoo.com account (@) [0] - mta1029.mail.example"),
  hard('5.1.1', '511 sorry, no mailbox here by that name (#5.1.1 - chkuser)'),
  hard('5.0.0', '550 Message was not accepted -- invalid mailbox.  Local mailbox @ is unavailable: user not found'),
  hard('5.0.0', '550 No such user here'),
  hard('5.1.0', '550 #5.1.0 Address rejected.'),
  hard('5.1.1', '550 5.1.1 <@>: user does not exist'),
  hard('5.1.1', '550 5.1.1 unknown or illegal alias: @'),
  hard('5.1.6', '550 5.1.6 recipient no longer on server: @'),
  soft('5.2.2', '552-5.2.2 The email account that you tried to reach is over quota and inactive.'),
  soft(
    '5.2.2',
    '554 5.2.2 mailbox full; STOREDRV.Deliver.Exception:QuotaExceededException.MapiExceptionShutoffQuotaExceeded',
  ),
  soft('4.2.2', '452 4.2.2 The email account that you tried to reach is over quota'),
  soft('5.0.0', '552 Quota violation for @'),
  soft('4.4.7', '550 4.4.7 QUEUE.Expired; message expired'),
  soft('4.7.1', '450 4.7.1 <@>: Recipient address rejected: Greylisted, see http://postgrey.example/help'),
  soft('4.3.1', '452 4.3.1 Insufficient system storage'),
  soft(
    '4.2.1',
    '450-4.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered.',
  ),
  soft('4.4.2', '421 4.4.2 mx.example Error: timeout exceeded'),
  soft('4.3.2', '451 4.3.2 Please try again later'),
  blocked(
    '5.7.1',
    '550 5.7.1 Service unavailable; Client host [192.0.2.7] blocked using zen.spamhaus.org; https://www.spamhaus.org/query/ip/192.0.2.7',
  ),
  blocked(
    '5.7.1',
    '550-5.7.1 [192.0.2.7      12] Our system has detected that this message is likely unsolicited mail. - gsmtp',
  ),
  blocked('5.7.26', '550-5.7.26 This mail has been blocked because the sender is unauthenticated. - gsmtp'),
  blocked(
    '5.7.1',
    "550 5.7.1 Unfortunately, messages from [192.0.2.7] weren't sent. Please contact your Internet service provider since part of their network is on our block list (S3140).",
  ),
  blocked(
    '5.7.606',
    '550 5.7.606 Access denied, banned sending IP [192.0.2.7]. To request removal from this list please visit https://sender.office.example/',
  ),
  blocked(
    '5.7.9',
    '554 5.7.9 Message not accepted for policy reasons. See https://postmaster.yahooinc.example/error-codes',
  ),
  blocked(
    '4.7.0',
    '421 4.7.0 [TSS04] Messages from 192.0.2.7 temporarily deferred due to unexpected volume or user complaints',
  ),
  blocked('5.0.0', '550 High probability of spam'),
  blocked('5.7.1', '554 5.7.1 <@>: Relay access denied'),
  blocked('5.3.4', '552 5.3.4 Message size exceeds fixed maximum message size'),
  blocked(
    '5.7.133',
    '550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required; Delivery restriction check failed because the sender was not authenticated when sending to this group',
  ),
  blocked(
    '5.7.509',
    '550 5.7.509 Access denied, sending domain sender.example does not pass DMARC verification and has a DMARC policy of reject.',
  ),
];

type Template = (saying: Saying, original: Original) => string;

export const crlf = (text: string): string => text.replace(/\r?\n/g, '\r\n');

export function originalHeaders({ messageId, to, returnPath }: Original): string {
  return `Return-Path: <${returnPath}>
Received: from mail.sender.example (mail.sender.example [192.0.2.7]) by mx.example; Sat, 21 Nov 2026 10:00:00 +0000
From: News <reported@sender.example>
To: ${to}
Subject: Our reported
Message-ID: ${messageId}
Date: Sat, 21 Nov 2026 10:00:00 +0000
MIME-Version: 1.0
Content-Type: text/plain; charset=utf-8
`;
}

const body = 'Hello,\n\nif your mailbox is full or the user unknown, write to us: delivery has been delayed.\n';

/** A mail of one text. */
export function plainMail(headers: string, text: string): string {
  return `${headers.trim()}\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n${text}`;
}

/** A multipart/report of text, status and the original. */
export function reportMail(
  headers: string,
  {
    text,
    status,
    original,
    statusType = 'message/delivery-status',
    asHeaders = false,
  }: { text: string; status: string; original: Original; statusType?: string; asHeaders?: boolean },
): string {
  const kept = originalHeaders(original);
  return `${headers.trim()}
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status;
	boundary="=_b1/x.1"

This is a MIME-encapsulated message.

--=_b1/x.1
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 8bit

${text}
--=_b1/x.1
Content-Description: Delivery report
Content-Type: ${statusType}

${status}
--=_b1/x.1
Content-Description: Undelivered Message
Content-Type: ${asHeaders ? 'text/rfc822-headers' : 'message/rfc822'}

${asHeaders ? kept : `${kept}\n${body}`}
--=_b1/x.1--
`;
}

export type Draft = readonly [name: string, verdict: string, raw: string];

export const from = (sender: string, subject: string, { returnPath }: Original, more = '') =>
  `Return-Path: <>\nFrom: ${sender}\nTo: <${returnPath}>\nSubject: ${subject}${more === '' ? '' : `\n${more}`}`;

export const daemon = 'Mail Delivery System <MAILER-DAEMON@mx.example>';

export const status = (original: Original, action: string, code: string, more = '') => `Reporting-MTA: dns; mx.example

Final-Recipient: rfc822; ${original.to}
Action: ${action}
Status: ${code}
${more}`;

export const quoted = (original: Original) =>
  `\n--- The header of the original message is following. ---\n\n${originalHeaders(original)}`;

/** The recipient takes the place of a lone `@`, not of one in an address. */
function said(saying: Saying, original: Original): string {
  return saying.reply.replace(/(?<![\w.])@(?![\w.]*\.example)/g, original.to);
}

const oneLine = (text: string) => text.replace(/\n\s*(?:\d{3}[- ]\S+ )?/g, ' ');

const postfix: Template = (saying, original) =>
  reportMail(
    `Return-Path: <>
Delivered-To: ${original.returnPath}
From: MAILER-DAEMON@mx.example (Mail Delivery System)
Subject: Undelivered Mail Returned to Sender
To: ${original.returnPath}
Auto-Submitted: auto-replied
Message-Id: <20261121100001.4AB12@mx.example>`,
    {
      text: `This is the mail system at host mx.example.

I'm sorry to have to inform you that your message could not
be delivered to one or more recipients. It's attached below.

                   The mail system

<${original.to}>: host mx2.example[198.51.100.4] said: ${said(saying, original)} (in reply to RCPT TO command)
`,
      status: `Reporting-MTA: dns; mx.example
X-Postfix-Queue-ID: 4AB12
X-Postfix-Sender: rfc822; ${original.returnPath}
Arrival-Date: Sat, 21 Nov 2026 10:00:00 +0000 (UTC)

Final-Recipient: rfc822; ${original.to}
Original-Recipient: rfc822;${original.to}
Action: failed
Status: ${saying.status}
Remote-MTA: dns; mx2.example
Diagnostic-Code: smtp; ${oneLine(said(saying, original))}
`,
      original,
    },
  );

const exim: Template = (saying, original) =>
  plainMail(
    `Return-path: <>
Envelope-to: ${original.returnPath}
X-Failed-Recipients: ${original.to}
Auto-Submitted: auto-replied
From: Mail Delivery System <Mailer-Daemon@exim.example>
To: ${original.returnPath}
Subject: Mail delivery failed: returning message to sender`,
    `This message was created automatically by mail delivery software.

A message that you sent could not be delivered to one or more of its
recipients. This is a permanent error. The following address(es) failed:

  ${original.to}
    host mx2.example [198.51.100.4]
    SMTP error from remote mail server after RCPT TO:<${original.to}>:
    ${said(saying, original)}

------ This is a copy of the message, including all the headers. ------

${originalHeaders(original)}
${body}`,
  );

const qmail: Template = (saying, original) =>
  plainMail(
    `Return-Path: <>
Delivered-To: ${original.returnPath}
From: MAILER-DAEMON@qmail.example
To: ${original.returnPath}
Subject: failure notice`,
    `Hi. This is the qmail-send program at qmail.example.
I'm afraid I wasn't able to deliver your message to the following addresses.
This is a permanent error; I've given up. Sorry it didn't work out.

<${original.to}>:
198.51.100.4 does not like recipient.
Remote host said: ${said(saying, original)}
Giving up on 198.51.100.4.

--- Below this line is a copy of the message.

${originalHeaders(original)}
${body}`,
  );

const sendmail: Template = (saying, original) =>
  reportMail(
    `Return-Path: <MAILER-DAEMON>
From: Mail Delivery Subsystem <MAILER-DAEMON@sendmail.example>
To: <${original.returnPath}>
Subject: Returned mail: see transcript for details
Auto-Submitted: auto-generated (failure)`,
    {
      text: `The original message was received at Sat, 21 Nov 2026 10:00:00 GMT
from mail.sender.example [192.0.2.7]

   ----- The following addresses had permanent fatal errors -----
<${original.to}>
    (reason: ${said(saying, original)})

   ----- Transcript of session follows -----
... while talking to mx2.example.:
>>> DATA
<<< ${said(saying, original)}
`,
      status: `Reporting-MTA: dns; sendmail.example
Received-From-MTA: DNS; mail.sender.example
Arrival-Date: Sat, 21 Nov 2026 10:00:00 GMT

Final-Recipient: RFC822; ${original.to}
Action: failed
Status: ${saying.status}
Remote-MTA: DNS; mx2.example
Diagnostic-Code: SMTP; ${oneLine(said(saying, original))}
Last-Attempt-Date: Sat, 21 Nov 2026 10:00:03 GMT
`,
      original,
      asHeaders: true,
    },
  );

const exchange: Template = (saying, original) =>
  reportMail(
    `From: <MicrosoftExchange329e71ec88ae4615bbc36ab6ce41109e@corp.example>
To: <${original.returnPath}>
Subject: Undeliverable: Our reported
Auto-Submitted: auto-replied
X-MS-Exchange-Message-Is-Ndr:
In-Reply-To: ${original.messageId}`,
    {
      text: `Delivery has failed to these recipients or groups:

${original.to}<mailto:${original.to}>
Your message couldn't be delivered.

Diagnostic information for administrators:

Generating server: EXCH01.corp.example

${original.to}
Remote Server returned '${oneLine(said(saying, original))}'

Original message headers:

${originalHeaders(original)}`,
      status: `Reporting-MTA: dns;EXCH01.corp.example
Received-From-MTA: dns;mail.sender.example
Arrival-Date: Sat, 21 Nov 2026 10:00:00 +0000

Original-Recipient: rfc822;${original.to}
Final-Recipient: rfc822;${original.to}
Action: failed
Status: ${saying.status}
Diagnostic-Code: smtp;${oneLine(said(saying, original))}
X-Display-Name: ${original.to}
`,
      original,
    },
  );

const gmail: Template = (saying, original) =>
  reportMail(
    `Return-Path: <>
From: Mail Delivery Subsystem <mailer-daemon@googlemail.com>
To: ${original.returnPath}
Auto-Submitted: auto-replied
Subject: Delivery Status Notification (Failure)
References: ${original.messageId}
In-Reply-To: ${original.messageId}
X-Failed-Recipients: ${original.to}`,
    {
      text: `
** Message not delivered **

There was a problem delivering your message to ${original.to}. See the technical details below.

The response from the remote server was:
${said(saying, original)}
`,
      status: `Reporting-MTA: dns; googlemail.com
Arrival-Date: Sat, 21 Nov 2026 02:00:00 -0800 (PST)
X-Original-Message-ID: ${original.messageId}

Final-Recipient: rfc822; ${original.to}
Action: failed
Status: ${saying.status}
Remote-MTA: dns; mx2.example. (198.51.100.4, the server for the domain example.)
Diagnostic-Code: smtp; ${oneLine(said(saying, original))}
Last-Attempt-Date: Sat, 21 Nov 2026 02:00:01 -0800 (PST)
`,
      original,
    },
  );

const templates: Readonly<Record<string, Template>> = { postfix, exim, qmail, sendmail, exchange, gmail };

/** Every saying through every program. */
export function programShapes(original: Original): Shape[] {
  return Object.entries(templates).flatMap(([name, template]) =>
    sayings.map((saying) => ({
      name: `${name}: ${saying.reply.slice(0, 60)}`,
      verdict: saying.verdict,
      raw: crlf(template(saying, original)),
    })),
  );
}
