/** The installation itself, for administrators. */
import { stalledCampaigns } from '../../domain/campaigns/campaign-progress-store.ts';
import { diagnose, type Diagnosis } from '../../domain/installation/diagnostics.ts';
import { livingProcesses, type SeenProcess } from '../../domain/installation/process-store.ts';
import { holdOf, type Hold } from '../../domain/installation/restore-guard.ts';
import { builder } from '../builder.ts';

const forAdministrators = { admin: true } as const;

export const ProcessOfInstallation = builder.objectRef<SeenProcess>('InstallationProcess').implement({
  description: 'A process that reported itself in the last minute.',
  authScopes: forAdministrators,
  fields: (t) => ({
    host: t.exposeString('host'),
    pid: t.exposeInt('pid'),
    roles: t.exposeStringList('roles'),
    version: t.exposeString('version'),
    memoryMb: t.exposeInt('memoryMb', { description: 'Resident memory, in megabytes.' }),
    isWorking: t.exposeBoolean('isWorking', { description: 'Whether its worker takes jobs.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime' }),
    seenAt: t.expose('seenAt', { type: 'DateTime' }),
  }),
});

const HoldOfInstallation = builder.objectRef<Hold>('InstallationHold').implement({
  description: 'The database looks like a restored backup: nothing is sent until `endHold`.',
  authScopes: forAdministrators,
  fields: (t) => ({
    since: t.expose('since', { type: 'DateTime' }),
    reason: t.exposeString('reason'),
  }),
});

const StalledCampaign = builder.objectRef<{ uid: string; since: Date }>('StalledCampaign').implement({
  description: 'A campaign that has something to send and makes no progress; its `statusReason` says why.',
  authScopes: forAdministrators,
  fields: (t) => ({ uid: t.exposeString('uid'), since: t.expose('since', { type: 'DateTime' }) }),
});

const CheckStatusType = builder.enumType('DiagnosticStatus', {
  description: 'How grave the result of a check is.',
  values: {
    OK: { value: 'ok', description: 'Nothing has to be done.' },
    WARNING: { value: 'warning', description: 'It works, but not as it should.' },
    ERROR: { value: 'error', description: 'Something does not work.' },
  } as const,
});

const Diagnostic = builder.objectRef<Diagnosis>('InstallationDiagnostic').implement({
  description: 'The result of a check of the installation.',
  authScopes: forAdministrators,
  fields: (t) => ({
    name: t.exposeString('name'),
    status: t.expose('status', { type: CheckStatusType }),
    message: t.exposeString('message'),
    advice: t.exposeString('advice', { nullable: true, description: 'What to do; null when nothing has to be done.' }),
  }),
});

export const Installation = builder.objectRef<object>('Installation').implement({
  description: 'The installation itself.',
  authScopes: forAdministrators,
  fields: (t) => ({
    hold: t.field({
      type: HoldOfInstallation,
      nullable: true,
      description: 'Null: it works.',
      resolve: (_installation, _args, ctx) => holdOf(ctx.db),
    }),
    stalledCampaigns: t.field({
      type: [StalledCampaign],
      description: 'Of all customers, the longest first, at most 1,000.',
      resolve: (_installation, _args, ctx) => stalledCampaigns(ctx.db),
    }),
    diagnostics: t.field({
      type: [Diagnostic],
      description:
        'Checks the installation now, as `npm run doctor` does, from the process that answers: database, clock, disk, queue, processes, servers, domains, bounces. It asks name servers only.',
      resolve: (_installation, _args, ctx) => diagnose(ctx),
    }),
    processes: t.field({
      type: [ProcessOfInstallation],
      description: 'All processes on all machines, the oldest first.',
      resolve: (_installation, _args, ctx) => livingProcesses(ctx.db),
    }),
  }),
});

builder.queryField('installation', (t) =>
  t.field({
    type: Installation,
    description: 'The installation itself; for administrators.',
    authScopes: forAdministrators,
    resolve: () => ({}),
  }),
);
