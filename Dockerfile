# Mailwright in a container. Build: docker build -t mailwright .   Run: see compose.yaml and docs/guides/from-nothing-to-production.md
# glibc is needed: not alpine. The version of Node is the one that `npm start` runs on.
FROM node:24-bookworm-slim AS packages
WORKDIR /opt/mailwright
COPY package.json package-lock.json ./
COPY scripts/setup.mjs scripts/
COPY scripts/setup/ scripts/setup/
COPY prisma/ prisma/
# Exactly the packages of the lock file, without development tools, and the generated code.
RUN node scripts/setup.mjs
COPY . .
RUN node scripts/setup.mjs && chmod -R a+rX .

FROM node:24-bookworm-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/mailwright --create-home --shell /usr/sbin/nologin mailwright \
 && install -d -o mailwright -g mailwright -m 700 /var/lib/mailwright/data
COPY --from=packages /opt/mailwright /opt/mailwright
WORKDIR /opt/mailwright
ENV NODE_ENV=production DATA_DIR=/var/lib/mailwright/data HOST=0.0.0.0 LOG_FORMAT=json \
    MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=131072
USER mailwright
VOLUME /var/lib/mailwright/data
EXPOSE 3000
# A first start makes a database and migrates it.
HEALTHCHECK --interval=10s --timeout=5s --start-period=90s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:'+(process.env.PORT||3000)+'/healthz').then(r=>process.exit(r.ok?0:1),()=>process.exit(1))"]
STOPSIGNAL SIGTERM
# Without npm, so that SIGTERM reaches the program itself.
CMD ["node", "--max-semi-space-size=8", "src/main.ts"]
