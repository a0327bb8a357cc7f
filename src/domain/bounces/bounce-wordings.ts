/**
 * The texts that mail programs write themselves, in their languages: data, tested on lower case with single blanks; the first
 * match counts. Replies of refusing servers are judged in sending/replies; these are the texts around them, and replies that are
 * not English. Gaps are bounded, so hostile texts cost no time.
 */
import type { BounceClass } from './mail-report.ts';

export interface Wording {
  readonly class: BounceClass;
  readonly words: RegExp;
}

/**
 * The sender was not found, by a server that looks it up: tested first, because the words are like those for a recipient. A
 * missing DNS record of the sender's domain must not remove the recipients from a list.
 */
export const ABOUT_SENDER =
  /\bsender(?:'s)? (?:e-?mail )?(?:address|domain|mailbox)(?: name)?(?!:) .{0,60}?(?:reject|refus|invalid|not |n't |null|unknown|fail)|\bsender address rejected|\b(?:invalid|unknown) sender\b|\bsender (?:verify|verification|callback|callout)\b|\bdomain (?:of|for|not found for) sender\b|\bmail from:? ?(?:address|domain)(?!:) .{0,20}?(?:reject|refus|not |unknown|invalid)|\breturn[- ]path(?!:) .{0,30}?(?:reject|refus|not |unknown|invalid)|\bverification failed for <|\bwhile verifying <|\bfrom:? (?:domain|header)\b|\bfrom:? address is |\bin from: |\b(?:spf|dkim|dmarc|ptr|rdns|reverse dns|helo|ehlo)\b.{0,60}?(?:not |no |invalid|fail|unknown)/;
/** RFC 3463 3.2 and RFC 7505 4.2: bad sender's address, its domain, its null MX. */
export const STATUS_ABOUT_SENDER = /^[45]\.(?:1\.[78]|7\.27)$/;

/** Texts of a program that gave up by itself; tested before the reply's own classification. */
export const ownWordings: readonly Wording[] = [
  // Names that did not resolve now may resolve later.
  {
    class: 'soft',
    words:
      /host not found, try again|temporary (?:lookup|dns|name server) (?:failure|error)|dns (?:timeout|lookup failure)|lowest numbered mx record points to local host|name service error.{0,120}try again/,
  },
  {
    class: 'hard',
    words:
      /host or domain name not found|name service error|all relevant mx records point to non-existent hosts|unrouteable (?:mail )?(?:address|domain)|couldn't find any host named|cname lookup failed|domain (?:name )?(?:does not exist|not found|couldn't be found)|no mx or a records|dns type '?mx'? lookup .{0,120}nxdomain|recipient's domain .{0,60}(?:does not exist|not found)|null mx|5\.4\.310/,
  },
  {
    class: 'hard',
    words:
      /user unknown in (?:local|virtual|relay)|unknown user: |unrouteable address|no mailbox here by that name|this address no longer accepts mail|mailbox (?:does not exist|unavailable or access denied)|the email account that you tried to reach (?:does not exist|is (?:disabled|inactive))|address couldn't be found|wasn't found at|couldn't be (?:found|delivered because the address)|address not found|#5\.1\.0 address rejected|isn't a valid address|is not a valid mailbox/,
  },
  // Other languages, from large providers and translations of programs.
  {
    class: 'soft',
    words:
      /(?:postfach|mailbox|speicherplatz).{0,40}(?:voll|überschritten|erschöpft)|kontingent.{0,40}(?:voll|überschritten|erschöpft)|bo[iî]te (?:aux lettres |de réception )?.{0,40}pleine|quota .{0,30}dépassé|buz[oó]n .{0,40}(?:lleno|cuota)|cuota .{0,40}(?:excedid|superad)|casella .{0,40}piena|spazio .{0,30}esaurito|caixa .{0,40}cheia|postvak .{0,20}vol\b|skrzynka .{0,40}(?:pełna|przepełniona)|ящик .{0,40}переполнен|容量.{0,10}(?:超|不足)|邮箱.{0,6}已满|メールボックス.{0,10}(?:一杯|容量)/,
  },
  {
    class: 'hard',
    words:
      /(?:empfänger|adresse|postfach|benutzer|mailbox).{0,60}(?:unbekannt|existiert nicht|nicht gefunden|nicht bekannt|ungültig)|(?:existiert|gibt es) .{0,30}nicht|(?:destinataire|adresse|utilisateur|bo[iî]te).{0,60}(?:inconnu|introuvable|n'existe pas|invalide|n'a pas été trouvé)|(?:usuario|destinatario|direcci[oó]n|buz[oó]n|cuenta).{0,60}(?:desconocid|no existe|no (?:se ha encontrado|encontrad)|inexistente|no se encontr)|(?:utente|destinatario|indirizzo|casella).{0,60}(?:sconosciut|inesistente|non esiste|non (?:è stat[oa] )?trovat)|(?:usu[aá]rio|destinat[aá]rio|endere[cç]o|conta).{0,60}(?:desconhecid|n[aã]o existe|inexistente|n[aã]o (?:foi )?encontrad)|(?:gebruiker|geadresseerde|adres).{0,60}(?:onbekend|bestaat niet|niet gevonden)|(?:użytkownik|odbiorca|adres|konto).{0,60}(?:nieznany|nie istnieje|nie znaleziono)|(?:пользовател|получател|адрес|ящик).{0,60}(?:не существует|не найден|неизвест)|(?:användare|mottagare|adress).{0,60}(?:okänd|finns inte|hittades inte)|用户不存在|收件人.{0,10}(?:不存在|无效)|ユーザー?(?:が|は)?.{0,10}(?:存在しません|見つかりません)|宛先.{0,12}(?:存在しません|見つかりません)/,
  },
];

/** A program's own summary when nothing more precise is given. */
export const summaries: readonly Wording[] = [
  {
    class: 'soft',
    words:
      /retry time(?:out)? (?:not reached|exceeded)|retry timeout exceeded|delivery (?:time )?expired|(?:could not be delivered|undeliverable|giving up|not delivered) .{0,60}(?:for|after) .{0,20}(?:days?|hours?)|connection (?:timed out|refused|reset|lost)|connect(?:ion)? to .{0,80}(?:timed out|refused|failed)|network (?:is )?unreachable|no route to host|operation timed out|too long in (?:the )?queue|i'm not going to try again|been in the queue too long|lost connection with|conversation with .{0,80}timed out|message expired|tls .{0,60}(?:failed|required)|mail server .{0,40}not respond|server (?:isn't|did not|didn't) (?:respond|accept)/,
  },
];

/** The message is still being tried. */
export const DELAYED =
  /(?:delivery|message|mail|nachricht).{0,40}(?:has been|is|was|being|temporarily|still) (?:temporarily )?(?:delayed|deferred|queued)|delivery delayed|delayed mail|delivery status notification \(delay\)|warning: (?:message|could not send message|mail).{0,60}(?:still undelivered|delayed|for (?:the )?past)|will (?:be retried|keep trying|continue (?:to try|trying)|try again|retry)|no action is required|(?:has not|hasn't) (?:yet )?been (?:yet )?delivered|not been delivered yet|do(?:es)? not need to resend|this is a warning message only|zustellung .{0,30}verzögert|verzögerte zustellung|noch nicht zugestellt|remise .{0,30}retardée|entrega .{0,30}(?:retrasad|atrasad|demorad)|consegna .{0,30}ritardat|配送.{0,6}遅延|задерж/;

/** Subjects of automatic replies. */
export const AWAY_SUBJECT =
  /^(?:re: ?|aw: ?|antwort: ?|sv: ?){0,10}(?:out of (?:the )?office|automatic reply|auto(?:matic)?[- ]?(?:reply|response|antwort|svar)|autoreply|automatische antwort|abwesenheit|nicht im büro|abwesend|réponse automatique|absence du bureau|absent|respuesta automática|fuera de (?:la )?oficina|risposta automatica|fuori (?:sede|ufficio)|resposta automática|ausência|automatisch antwoord|afwezig|autosvar|frånvaro|automatyczna odpowiedź|poza biurem|автоответ|自动回复|自動返信|自動応答|away from|on (?:vacation|leave|holiday)|vacation|i am (?:away|out)|thank you for (?:contacting|your (?:e-?mail|message)))/;

/** Subjects of bounces without other signs in their headers. */
export const BOUNCE_SUBJECT =
  /undeliver|mail delivery (?:failed|failure|system|error|subsystem)|delivery (?:status notification|failure|has failed|failed|report|error|incomplete|problem)|failure notice|returned (?:mail|to sender|message)|mail (?:returned|system error|failure|not delivered)|message (?:could not|couldn't|not) (?:be )?deliver|non[- ]?(?:delivery|remise|delivered)|unzustellbar|nicht zugestellt|zustellung .{0,20}fehlgeschlagen|unable to deliver|could not be delivered|rejected:|notification d'échec|échec de (?:la )?remise|no se (?:puede|pudo) entregar|no entregado|error de entrega|impossibile recapitare|mancato recapito|não (?:foi )?(?:possível entregar|entregue)|falha na entrega|niet bezorgd|onbestelbaar|niedostarczon|zwrot|недоставлен|не доставлен|не удалось доставить|配信不能|配信できません|退信|系统退信|olevererbart|kunne ikke leveres/;

/** Local parts of programs that return mail. */
export const BOUNCE_SENDER =
  /^(?:mailer-?daemon|postmaster|mail-?daemon|maildelivery|mail-?system|mdaemon|bounces?|mail\.?delivery|nobody|admin-?bounces?|mmdf|microsoftexchange[0-9a-f]{10,40}|ndr|no-?reply-?mailer|mailer)\b/;
