/** The root of subscriptions; imported by the files that add fields to it. */
import { builder } from './builder.ts';

builder.subscriptionType({ description: 'Watching. Every event is a full, current value: missing one loses nothing.' });
