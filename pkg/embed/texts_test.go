package embed

// Texts of the tests, ours; long enough that a chunk of them repeats no more
// words than real ones do.
const (
	prose = `The coordinator asked on Tuesday why the nightly import had stopped. We looked at the queue first: eleven thousand messages were waiting, none older than forty minutes, and every worker reported itself healthy. Maria suspected the new firewall, because the vendor had moved its servers to another network during the weekend. Tomas disagreed and pointed to a certificate that would expire before the month ended. In the end both were wrong. A temporary directory had filled up with half-written exports, the disk refused further blocks, and the scheduler, which treats a failed write as a pause, simply waited for better days.

We deleted nothing. Instead the exports were copied to the archive, their hashes compared, and only then was the old folder moved aside. The import caught up within two hours. Afterwards Maria wrote a check that measures free space every quarter of an hour and complains long before anything breaks; Tomas added a page to the handbook about what a silent scheduler means. Next week we want to rehearse the same failure on the staging cluster, this time with the network slowed down as well, since nobody remembers how the retry logic behaves when answers arrive late.

Somebody also proposed to move the whole pipeline to a managed service. The price was discussed at length: storage would be cheaper, traffic dearer, and the team would lose its evening window for maintenance. Ines prefers a smaller step, namely to split the importer from the reporting database, so that a long query cannot hold back incoming orders. We agreed to decide after the summer holidays. Until then the backup runs at three in the morning, the restore drill happens on the first Monday, and the phone list hangs beside the kitchen door where even visitors find it. Her daughter's birthday is on the ninth of August, so the drill may be postponed by a day, and Tomas will bring strawberry cake either way. He learned baking from his grandfather, a lighthouse keeper who painted ships and collected stamps from Iceland, Portugal and Peru.`

	code = `func (s *SessionStore) OpenArchive(ctx context.Context, sessionID string, opts ...ArchiveOption) (*ArchiveReader, error) {
	cfg := defaultArchiveConfig()
	for _, opt := range opts { opt(&cfg) }
	path := filepath.Join(s.rootDir, "session_archive", cfg.agentName, sessionID+".jsonl.zst")
	f, err := os.OpenFile(path, os.O_RDONLY, 0o600)
	if errors.Is(err, fs.ErrNotExist) { return nil, fmt.Errorf("open archive %s: %w", sessionID, ErrArchiveMissing) }
	hashWriter := sha256.New()
	zr, err := zstd.NewReader(io.TeeReader(f, hashWriter), zstd.WithDecoderMaxMemory(cfg.maxWindowBytes))
	if err != nil { _ = f.Close(); return nil, fmt.Errorf("new zstd reader: %w", err) }
	return &ArchiveReader{file: f, decoder: zr, digest: hashWriter, wantHash: cfg.expectedHash, lineBuf: bufio.NewReaderSize(zr, 256<<10)}, nil
}
$ kubectl -n staging get pods --selector=app=import-worker -o wide
import-worker-7f9c6d5b8-x2kqz 1/1 Running 0 3h12m 10.42.7.19 node-eu-west-1b
ERROR 2031-04-17T09:24:51.337Z pkg/queue/consumer.go:214 ack_timeout: delivery_tag=90417 consumer_id=c-01J8ZQK3V4 retry_count=3 err="EPIPE: broken pipe (errno 32)"
WARN  src/http_client/retryPolicy.ts:88 ExponentialBackoff nextDelayMs=1600 maxRetries=5 https://api.example.com/v2/orders?since=2031-04-16
npm ERR! code ERESOLVE could not resolve dependency: peer react@"^18.2.0" from @scope/ui-kit@3.4.1
SELECT o.order_id, c.customer_name, SUM(li.unit_price * li.quantity) AS total_cents FROM orders o JOIN line_items li ON li.order_id = o.order_id LEFT JOIN customers c USING (customer_id) WHERE o.created_at > now() - interval '7 days' GROUP BY 1, 2 HAVING COUNT(*) > 1 ORDER BY total_cents DESC LIMIT 50;
def load_vectors(self, table_path: Path, *, mmap_mode="r") -> np.ndarray: return np.load(table_path / "glove40k.npy", mmap_mode=mmap_mode).astype(np.float32, copy=False)
`

	japanese = `昨日の会議では、取り込み処理が止まった原因について話し合った。作業用の一時ディレクトリが書きかけのファイルで一杯になり、ディスクに空きがなくなっていた。担当者はまず保管庫へ写しを作り、ハッシュ値を確かめてから古いフォルダを移動した。来週は試験環境で同じ障害を再現し、通信が遅いときに再試行がどう動くかを調べる予定である。マリアは空き容量を十五分ごとに測る点検を書き、トマスは手引きに新しい頁を加えた。`
)
