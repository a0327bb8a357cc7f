/** Whether people opened or clicked a mail of their run (D78): the last one that this node sent. Machines' acts count only when asked for. */
import { causeOfMail } from '../../delivery/flow-mails/flow-mail.ts';
import type { FlowQuestion } from '../flow/flow-condition.ts';
import { actsOnMails, clickedLinks } from './flow-mail-read-model.ts';
import type { NodeWork, PresentRun } from './node-work.ts';
import { passOf } from '../runs/run.ts';

type MailQuestion = Extract<FlowQuestion, { opened: unknown } | { clicked: unknown }>;

export async function answerAboutMail(
  question: MailQuestion,
  { ctx, live, runs }: Pick<NodeWork, 'ctx' | 'live' | 'runs'>,
): Promise<(run: PresentRun) => boolean> {
  const asked = 'opened' in question ? question.opened : question.clicked;
  const causeOf = (run: PresentRun): string =>
    causeOfMail({ runId: run.id, node: asked.mail, pass: passOf(run, asked.mail) });
  const mails = { causes: runs.map(causeOf), machines: asked.machines ?? false };
  if ('clicked' in question && question.clicked.linkContains !== undefined) {
    const clicked = await clickedLinks(ctx.db, live.key, { ...mails, contains: question.clicked.linkContains });
    return (run) => clicked.has(causeOf(run));
  }
  const acts = await actsOnMails(ctx.db, live.key, mails);
  return (run) => {
    const { opens = 0, clicks = 0 } = acts.get(causeOf(run)) ?? {};
    // Who clicked has read it, also without its pictures.
    return 'opened' in question ? opens + clicks > 0 : clicks > 0;
  };
}
