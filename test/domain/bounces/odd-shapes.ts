/** Mails to bounce addresses that are no plain bounce of a well-known program: delays, other languages, no standard, no bounce. */
import {
  crlf,
  daemon,
  from,
  plainMail,
  quoted,
  reportMail,
  status,
  type Draft,
  type Original,
  type Shape,
} from './bounce-shapes.ts';
import { languages, withoutStandard } from './wording-shapes.ts';

function delays(original: Original): Draft[] {
  const dsn = (name: string, subject: string, text: string, code: string, more = ''): Draft => [
    `delay: ${name}`,
    'delayed',
    reportMail(from(daemon, subject, original, 'Auto-Submitted: auto-replied'), {
      text,
      original,
      status: status(original, 'delayed', code, more),
    }),
  ];
  const plain = (name: string, subject: string, text: string): Draft => [
    `delay: ${name}`,
    'delayed',
    plainMail(from(daemon, subject, original), `${text}${quoted(original)}`),
  ];
  return [
    dsn(
      'postfix',
      'Delayed Mail (still being retried)',
      '####\n# THIS IS A WARNING ONLY.  YOU DO NOT NEED TO RESEND YOUR MESSAGE. #\n####\nYour message could not be delivered for more than 4 hour(s).\nIt will be retried until it is 5 day(s) old.',
      '4.4.1',
      'Diagnostic-Code: X-Postfix; connect to mx2.example[198.51.100.4]:25: Connection timed out\nWill-Retry-Until: Thu, 26 Nov 2026 10:00:00 +0000\n',
    ),
    dsn(
      'full mailbox',
      'Delayed Mail (still being retried)',
      'Your message could not be delivered for more than 4 hour(s).',
      '4.2.2',
      'Diagnostic-Code: smtp; 452 4.2.2 mailbox full\n',
    ),
    dsn(
      'unknown for now',
      'Delayed Mail (still being retried)',
      'It will be retried.',
      '4.1.1',
      'Diagnostic-Code: smtp; 450 4.1.1 user unknown\n',
    ),
    dsn(
      'greylisted',
      'Warning: could not send message for past 4 hours',
      '    **********************************************\n    **      THIS IS A WARNING MESSAGE ONLY      **\n    **  YOU DO NOT NEED TO RESEND YOUR MESSAGE  **',
      '4.7.1',
      'Diagnostic-Code: SMTP; 451 4.7.1 Greylisting in action\n',
    ),
    dsn(
      'exchange',
      'Delivery delayed:Our news',
      "Delivery is delayed to these recipients or groups:\n\nThis message hasn't been delivered yet. Delivery will continue to be attempted.",
      '4.4.7',
    ),
    dsn(
      'gmail',
      'Delivery Status Notification (Delay)',
      '** Delivery incomplete **\n\nThere was a temporary problem delivering your message. Gmail will retry for 46 more hours.',
      '4.4.1',
      'Will-Retry-Until: Mon, 23 Nov 2026 10:00:00 +0000\n',
    ),
    dsn('with a final status by mistake', 'Delivery delayed', 'Still being tried.', '5.1.1'),
    dsn('given up on one of two', 'Delayed', 'Still being tried.', '4.0.0', 'Diagnostic-Code: smtp; 421 4.0.0 busy\n'),
    [
      'delay: capital letters',
      'delayed',
      reportMail(from(daemon, 'Delayed', original), {
        text: 'Still being tried.',
        original,
        status: status(original, 'x', '4.0.0').replace('Action: x', 'ACTION: Delayed (will retry)'),
      }),
    ],
    plain(
      'exim',
      'Warning: message 1abcDE-0001-2F delayed 24 hours',
      `This message was created automatically by mail delivery software.\nA message that you sent has not yet been delivered to one or more of its\nrecipients after more than 24 hours on the queue on mx.example.\n\nThe address to which the message has not yet been delivered is:\n\n  ${original.to}\n    Delay reason: mailbox is full\n\nNo action is required on your part. Delivery attempts will continue for\nsome time.`,
    ),
    plain(
      'old sendmail',
      'Warning: could not send message for past 4 hours',
      `   ----- The following addresses had transient non-fatal errors -----\n<${original.to}>\n\n   ----- Transcript of session follows -----\n451 4.4.1 reply: read error from mx2.example.\nWarning: message still undelivered after 4 hours\nWill keep trying until message is 5 days old`,
    ),
    plain('german', 'Zustellung verzögert', 'Ihre Nachricht wurde noch nicht zugestellt. Es wird weiter versucht.'),
    plain('french', 'Remise retardée', 'La remise de votre message est retardée.'),
    plain(
      'no status',
      'Delivery delayed',
      `Your message to ${original.to} has been delayed. The server will keep trying. 550 5.1.1 is not what happened.`,
    ),
    [
      'delay: no action field',
      'delayed',
      reportMail(from(daemon, 'Delayed Mail (still being retried)', original), {
        text: 'It will be retried.',
        original,
        status: status(original, 'x', '4.4.1').replace('Action: x\n', ''),
      }),
    ],
  ];
}

function reports(original: Original): Draft[] {
  const dsn = (name: string, verdict: string, text: string, groups: string): Draft => [
    `report: ${name}`,
    verdict,
    reportMail(from(daemon, 'Delivery Status Notification', original), { text, original, status: groups }),
  ];
  return [
    dsn('delivered', 'none', 'Your message was delivered.', status(original, 'delivered', '2.0.0')),
    dsn('relayed', 'none', 'Your message was relayed.', status(original, 'relayed', '2.0.0')),
    dsn('expanded', 'none', 'Your message was expanded.', status(original, 'expanded', '2.0.0')),
    dsn(
      'postfix, no host',
      'hard',
      'x',
      status(
        original,
        'failed',
        '5.4.4',
        'Diagnostic-Code: X-Postfix; Host or domain name not found. Name service error for\n    name=gone.example type=AAAA: Host not found\n',
      ),
    ),
    dsn('postfix, local', 'hard', 'x', status(original, 'failed', '5.1.1', 'Diagnostic-Code: x-unix; user unknown\n')),
    dsn(
      'postfix, expired',
      'soft',
      'x',
      status(
        original,
        'failed',
        '4.4.1',
        'Diagnostic-Code: X-Postfix; connect to mx2.example[198.51.100.4]:25:\n    Connection timed out\n',
      ),
    ),
    dsn(
      'postfix, names do not resolve now',
      'soft',
      'x',
      status(
        original,
        'failed',
        '4.4.3',
        'Diagnostic-Code: X-Postfix; Host or domain name not found. Name service error for\n    name=slow.example type=MX: Host not found, try again\n',
      ),
    ),
    dsn(
      'null mx',
      'hard',
      'x',
      status(
        original,
        'failed',
        '5.1.0',
        'Diagnostic-Code: X-Postfix; Domain gone.example does not accept mail (nullMX)\n',
      ),
    ),
    dsn(
      'office 365, no domain',
      'hard',
      'x',
      status(
        original,
        'failed',
        '5.4.310',
        'Diagnostic-Code: smtp;550 5.4.310 DNS domain gone.example does not exist [Message=InfoDomainNonexistent]\n',
      ),
    ),
    dsn(
      'office 365, loop',
      'soft',
      'x',
      status(
        original,
        'failed',
        '5.4.14',
        'Diagnostic-Code: smtp;554 5.4.14 Hop count exceeded - possible mail loop ATTR1\n',
      ),
    ),
    dsn('no diagnostic code', 'hard', 'x', status(original, 'failed', '5.1.1')),
    dsn('no diagnostic code, full', 'soft', 'x', status(original, 'failed', '5.2.2')),
    dsn(
      'moved behind a list',
      'hard',
      'x',
      `${status(original, 'expanded', '2.0.0')}\nFinal-Recipient: rfc822; someone@elsewhere.example\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1 User unknown\n`,
    ),
    [
      'report: in utf-8 (RFC 6533)',
      'hard',
      reportMail(from(daemon, 'Undelivered', original), {
        text: 'x',
        original,
        statusType: 'message/global-delivery-status',
        status: `Reporting-MTA: dns; mx.example\n\nFinal-Recipient: utf-8; grüße@bücher.example\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1 Benutzer unbekannt: grüße\n`,
      }),
    ],
    [
      'report: status in base64',
      'hard',
      reportMail(from(daemon, 'Undelivered', original), {
        text: 'x',
        original,
        statusType: 'message/delivery-status\nContent-Transfer-Encoding: base64',
        status: Buffer.from(status(original, 'failed', '5.1.1', 'Diagnostic-Code: smtp; 550 5.1.1 no such user\n'))
          .toString('base64')
          .replace(/.{76}/g, '$&\n'),
      }),
    ],
    [
      'report: cut off in the middle',
      'hard',
      reportMail(from(daemon, 'Undelivered', original), {
        text: 'x',
        original,
        status: status(original, 'failed', '5.1.1', 'Diagnostic-Code: smtp; 550 5.1.1 no such user\n'),
      }).slice(0, -120),
    ],
    [
      'report: read receipt',
      'none',
      `${from('p@person.example', 'Read: Our news', original)}\nMIME-Version: 1.0\nContent-Type: multipart/report; report-type=disposition-notification; boundary=b\n\n--b\nContent-Type: text/plain\n\nYour message was read.\n--b\nContent-Type: message/disposition-notification\n\nFinal-Recipient: rfc822; ${original.to}\nOriginal-Message-ID: ${original.messageId}\nDisposition: manual-action/MDN-sent-manually; displayed\n--b--\n`,
    ],
    [
      'report: deleted unread',
      'none',
      `${from('p@person.example', 'Not read: Our news', original)}\nMIME-Version: 1.0\nContent-Type: multipart/report; report-type=disposition-notification; boundary=b\n\n--b\nContent-Type: text/plain\n\nYour message was deleted without being read. The mailbox is full, user unknown.\n--b\nContent-Type: message/disposition-notification\n\nFinal-Recipient: rfc822; ${original.to}\nDisposition: manual-action/MDN-sent-manually; deleted\n--b--\n`,
    ],
  ];
}

function people(original: Original): Draft[] {
  const away = (
    name: string,
    subject: string,
    words: string,
    more = 'Auto-Submitted: auto-replied',
    sender = 'P <p@person.example>',
  ): Draft => [
    `away: ${name}`,
    'autoReply',
    plainMail(from(sender, subject, original, more), `${words}\n${quoted(original)}`),
  ];
  return [
    away('english', 'Out of Office: Our news', 'I am out of the office until Monday. This mailbox is not monitored.'),
    away(
      'exchange',
      'Automatic reply: Our news',
      'I no longer work here. My account is disabled.',
      'X-Auto-Response-Suppress: All\nAuto-Submitted: auto-generated',
    ),
    away('german', 'Abwesenheitsnotiz: Our news', 'Ich bin nicht im Büro.', 'Precedence: bulk'),
    away('french', 'Réponse automatique : Our news', 'Je suis absent.', 'X-Autoreply: yes'),
    away('vacation', 'away from my mail', 'Your mail will be read when I return.', 'Precedence: junk\nX-Vacation: yes'),
    away('spanish', 'Respuesta automática: Our news', 'Estoy fuera de la oficina.', 'Precedence: auto_reply'),
    away(
      'ticket',
      'Re: Our news [#1234]',
      'Thank you, your request was received: 550 is your number.',
      'Auto-Submitted: auto-replied',
    ),
    away(
      'from a postmaster',
      'Automatic reply: Our news',
      'This address is not read.',
      'Auto-Submitted: auto-replied',
      'postmaster@person.example',
    ),
    [
      'a person',
      'none',
      plainMail(
        `Return-Path: <p@person.example>\nFrom: P <p@person.example>\nTo: <${original.returnPath}>\nSubject: Re: Our reported`,
        `My old mailbox is full and the user unknown, please use another address.\n\n> 550 5.1.1 user unknown\n${quoted(original)}`,
      ),
    ],
    [
      'a person who forwards a bounce',
      'none',
      plainMail(
        `Return-Path: <p@person.example>\nFrom: P <p@person.example>\nTo: <${original.returnPath}>\nSubject: Fwd: Undelivered Mail Returned to Sender`,
        `Look at this.\n\n550 5.1.1 user unknown\n${quoted(original)}`,
      ),
    ],
    [
      'advertising',
      'none',
      plainMail(
        `Return-Path: <offers@shop.example>\nFrom: Offers <offers@shop.example>\nTo: <${original.returnPath}>\nSubject: Your mailbox is full of savings`,
        'Buy now.',
      ),
    ],
    ['nothing at all', 'none', ''],
  ];
}

export function oddShapes(original: Original): Shape[] {
  return [
    ...delays(original),
    ...languages(original),
    ...withoutStandard(original),
    ...reports(original),
    ...people(original),
  ].map(([name, verdict, raw]) => ({ name, verdict, raw: crlf(raw) }));
}
