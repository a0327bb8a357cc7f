/** Bounces whose meaning stands in words only: of other languages, and of programs without a standard. */
import {
  daemon,
  from,
  originalHeaders,
  plainMail,
  quoted,
  status,
  type Draft,
  type Original,
} from './bounce-shapes.ts';

export function languages(original: Original): Draft[] {
  const text = (name: string, verdict: string, subject: string, words: string): Draft => [
    `language: ${name}`,
    verdict,
    plainMail(
      from('Postmaster <postmaster@mx.example>', subject, original),
      `${words}\n\n${original.to}\n${quoted(original)}`,
    ),
  ];
  return [
    text(
      'german',
      'hard',
      'Unzustellbar: Our news',
      'Fehler bei der Nachrichtenzustellung an folgende Empfänger oder Gruppen:\n\nDie eingegebene E-Mail-Adresse konnte nicht gefunden werden. Der Empfänger ist unbekannt.',
    ),
    text(
      'german, full',
      'soft',
      'Unzustellbar: Our news',
      'Das Postfach des Empfängers ist voll und kann zurzeit keine Nachrichten annehmen.',
    ),
    text(
      'french',
      'hard',
      'Non remis : Our news',
      "Échec de la remise pour ces destinataires ou groupes :\n\nL'adresse de messagerie que vous avez entrée est introuvable.",
    ),
    text('french, full', 'soft', 'Échec de la remise', 'La boîte aux lettres du destinataire est pleine.'),
    text(
      'spanish',
      'hard',
      'No se puede entregar: Our news',
      'No se pudo entregar el mensaje: la dirección de correo no existe.',
    ),
    text('spanish, full', 'soft', 'Error de entrega', 'El buzón del destinatario está lleno.'),
    text('italian', 'hard', 'Impossibile recapitare: Our news', "L'utente è sconosciuto: la casella non esiste."),
    text('portuguese', 'hard', 'Falha na entrega', 'O destinatário não existe neste servidor.'),
    text('portuguese, full', 'soft', 'Falha na entrega', 'A caixa de correio está cheia.'),
    text('dutch', 'hard', 'Niet bezorgd: Our news', 'Het adres van de ontvanger is niet gevonden.'),
    text('polish', 'hard', 'Niedostarczona wiadomość', 'Adres odbiorcy nie istnieje.'),
    text('russian', 'hard', 'Недоставленное сообщение', 'Получатель не существует на этом сервере.'),
    text('russian, full', 'soft', 'Недоставленное сообщение', 'Почтовый ящик получателя переполнен.'),
    text('japanese', 'hard', '配信不能のお知らせ', '宛先のユーザーが見つかりません。'),
    text('chinese', 'hard', '系统退信', '收件人邮件地址不存在。'),
    text('chinese, full', 'soft', '退信', '对方邮箱已满，无法接收。'),
    text('swedish', 'hard', 'Olevererbart: Our news', 'Mottagaren finns inte.'),
  ];
}

export function withoutStandard(original: Original): Draft[] {
  const text = (
    name: string,
    verdict: string,
    words: string,
    headers = from('MAILER-DAEMON@mx.example', 'Delivery failure', original),
  ): Draft => [`no standard: ${name}`, verdict, plainMail(headers, `${words}\n${quoted(original)}`)];
  return [
    text(
      'domino',
      'hard',
      `Your message\n\n  Subject: Our reported\n\nwas not delivered to:\n\n  ${original.to}\n\nbecause:\n\n  User p (${original.to}) not listed in Domino Directory`,
      from('Postmaster@domino.example', 'DELIVERY FAILURE: User p not listed in Domino Directory', original),
    ),
    text(
      'iplanet',
      'hard',
      `This report relates to a message you sent. Your message cannot be delivered to the following recipients:\n\n  Recipient address: ${original.to}\n  Reason: Illegal user, no such user`,
    ),
    text(
      'mdaemon',
      'hard',
      `The following recipients did not receive this message: ${original.to} - no such mailbox here. 550 <${original.to}>, Recipient unknown`,
    ),
    text(
      'groupwise',
      'hard',
      `The message that you sent was undeliverable to the following:\n\tp (550 ${original.to}: No such recipient)`,
    ),
    text(
      'yahoo',
      'hard',
      `Sorry, we were unable to deliver your message to the following address.\n\n<${original.to}>:\n554: delivery error: dd This user doesn't have a yahoo.com account (${original.to}) [0] - mta1.mail.example`,
    ),
    text(
      'courier',
      'hard',
      `This is a delivery status notification from mx.example.\n\n<${original.to}>:\n     550 User unknown.`,
    ),
    text(
      'exim, local',
      'hard',
      `This message was created automatically by mail delivery software.\nA message that you sent could not be delivered to one or more of its recipients. This is a permanent error.\n\n  ${original.to}\n    Unrouteable address`,
      from(
        'Mail Delivery System <Mailer-Daemon@exim.example>',
        'Mail delivery failed: returning message to sender',
        original,
        `X-Failed-Recipients: ${original.to}`,
      ),
    ),
    text(
      'exim, retry timeout',
      'soft',
      `This message was created automatically by mail delivery software.\nA message that you sent could not be delivered to one or more of its recipients. This is a permanent error.\n\n  ${original.to}\n    retry timeout exceeded`,
      from(
        'Mail Delivery System <Mailer-Daemon@exim.example>',
        'Mail delivery failed: returning message to sender',
        original,
        `X-Failed-Recipients: ${original.to}`,
      ),
    ),
    text(
      'qmail, no host',
      'hard',
      `Hi. This is the qmail-send program at qmail.example.\nI'm afraid I wasn't able to deliver your message to the following addresses.\nThis is a permanent error; I've given up. Sorry it didn't work out.\n\n<${original.to}>:\nSorry, I couldn't find any host named gone.example. (#5.1.2)`,
      from('MAILER-DAEMON@qmail.example', 'failure notice', original),
    ),
    text(
      'qmail, too long',
      'soft',
      `Hi. This is the qmail-send program at qmail.example.\nI'm afraid I wasn't able to deliver your message to the following addresses.\n\n<${original.to}>:\nSorry, I wasn't able to establish an SMTP connection. (#4.4.1)\nI'm not going to try again; this message has been in the queue too long.`,
      from('MAILER-DAEMON@qmail.example', 'failure notice', original),
    ),
    text(
      'qmail, quota',
      'soft',
      `Hi. This is the qmail-send program at qmail.example.\n\n<${original.to}>:\nuser is over quota: mailbox is full`,
      from('MAILER-DAEMON@qmail.example', 'failure notice', original),
    ),
    text(
      'a filter',
      'blocked',
      `Your message to ${original.to} was rejected because it was classified as spam by our content filter.`,
      from('postmaster@filter.example', 'Undeliverable: Our news', original),
    ),
    text(
      'gateway',
      'hard',
      `The following message to <${original.to}> was undeliverable.\nThe reason for the problem:\n5.1.0 - Unknown address error 550-'5.1.1 User unknown'`,
    ),
    [
      'html only',
      'hard',
      `${from('postmaster@exchange.example', 'Undeliverable: Our news', original)}\nMIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n\n<html><head><style>p {x: y}</style></head><body><p><b>Your message to ${original.to} couldn&#39;t be delivered.</b></p><p>The address ${original.to} wasn&#39;t found at example.</p><p>Remote Server returned '550 5.1.10 RESOLVER.ADR.RecipientNotFound'</p><p>Message-ID: ${original.messageId.replace('<', '&lt;').replace('>', '&gt;')}</p></body></html>\n`,
    ],
    [
      'flattened report',
      'hard',
      plainMail(
        from(daemon, 'Undelivered Mail Returned to Sender', original),
        `Your message could not be delivered.\n\n${status(original, 'failed', '5.1.1', 'Diagnostic-Code: smtp; 550 5.1.1 unknown user\n')}\n${originalHeaders(original)}`,
      ),
    ],
  ];
}
