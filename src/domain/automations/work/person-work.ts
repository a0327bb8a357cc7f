/** Nodes that change the person: tags, fields, leaving the list. */
import { lockPeople, setFieldOfPeople, tagPeople, untagPeople } from '../../audience/people-store.ts';
import { afterUnsubscribes } from '../../audience/mails/person-mail.ts';
import { unsubscribePeople } from '../../audience/subscriber-store.ts';
import { endUndoOfPeople } from '../../audience/undo-store.ts';
import { failed, NEXT, type NodeWork, type Outcome } from './node-work.ts';

function peopleOf({ live, runs }: Pick<NodeWork, 'live' | 'runs'>) {
  return { customerId: live.key.customerId, listId: live.listId, ids: runs.map(({ personId }) => personId) };
}

export async function addTag(work: NodeWork<'add_tag'>): Promise<readonly Outcome[]> {
  const full = await tagPeople(work.ctx.db, peopleOf(work), work.node.tag);
  return work.runs.map(({ personId }) => (full.has(personId) ? failed(work, 'too_many_tags') : NEXT));
}

export async function removeTag(work: NodeWork<'remove_tag'>): Promise<readonly Outcome[]> {
  await untagPeople(work.ctx.db, peopleOf(work), work.node.tag);
  return work.runs.map(() => NEXT);
}

export async function setField(work: NodeWork<'set_field'>): Promise<readonly Outcome[]> {
  const { field, value } = work.node;
  await setFieldOfPeople(work.ctx.db, peopleOf(work), { tag: field, value });
  return work.runs.map(() => NEXT);
}

export async function unsubscribe(work: NodeWork<'unsubscribe'>): Promise<readonly Outcome[]> {
  const { customerId, listId, ids } = peopleOf(work);
  await lockPeople(work.ctx.db, { customerId, listId, ids });
  const people = ids.map((id) => ({ customerId, listId, id }));
  const entry = { source: 'flow', ipAddress: null } as const;
  await endUndoOfPeople(work.ctx.db, people, entry);
  const left = await unsubscribePeople(work.ctx.db, people, entry);
  await afterUnsubscribes(work.ctx.db, left);
  return work.runs.map(() => NEXT);
}
