//! Words of `tablemate dev`.

use std::net::SocketAddr;

use tablemate_store::StoreUrl;

use super::Lang;

/// The service is up: what to try next.
pub fn started(lang: Lang, address: SocketAddr, store: &StoreUrl) -> String {
    let store = match (store, lang) {
        (StoreUrl::Memory, Lang::En) => "in this process, gone when it ends".to_owned(),
        (StoreUrl::Memory, Lang::Zh) => "在本进程内，退出即失".to_owned(),
        (StoreUrl::Redis(url), _) => url.to_string(),
    };
    let usual = address.to_string() == "127.0.0.1:7400";
    let server = if usual {
        String::new()
    } else {
        format!(" --server {address}")
    };
    let settings = r#""settings":{"reversi":{}},"ready":true"#;
    match lang {
        Lang::En => format!(
            r#"Tablemate listens on {address} (plain gRPC; data: {store}). Ctrl-C ends it.

Try in another terminal:
  cargo run --release -- play{server}                   play Reversi against a bot
  cargo run --release -- play --bots{server}            watch two bots play
  cargo run --release -- load{server} --duration 10s    64 simulated players
  cargo run --release -- replay{server} FILE            real games from a file

With grpcurl:
  grpcurl -plaintext {address} list
  grpcurl -plaintext -d '{{"request_id":"a1","player_id":"ann",{settings}}}' {address} tablemate.v1.MatchmakingService/CreateTicket
  grpcurl -plaintext -d '{{"request_id":"b1","player_id":"bob",{settings}}}' {address} tablemate.v1.MatchmakingService/CreateTicket
  grpcurl -plaintext -d '{{"unfinished_only":true}}' {address} tablemate.v1.SessionService/ListSessions
"#
        ),
        Lang::Zh => format!(
            r#"Tablemate 正在 {address} 监听（明文 gRPC；数据：{store}）。按 Ctrl-C 结束。

在另一个终端里试试：
  cargo run --release -- play{server}                   与机器人下黑白棋
  cargo run --release -- play --bots{server}            看两个机器人对弈
  cargo run --release -- load{server} --duration 10s    64 名模拟棋手
  cargo run --release -- replay{server} 文件            重放文件中的真实对局

用 grpcurl：
  grpcurl -plaintext {address} list
  grpcurl -plaintext -d '{{"request_id":"a1","player_id":"ann",{settings}}}' {address} tablemate.v1.MatchmakingService/CreateTicket
  grpcurl -plaintext -d '{{"request_id":"b1","player_id":"bob",{settings}}}' {address} tablemate.v1.MatchmakingService/CreateTicket
  grpcurl -plaintext -d '{{"unfinished_only":true}}' {address} tablemate.v1.SessionService/ListSessions
"#
        ),
    }
}

/// The service ends.
pub fn stopping(lang: Lang) -> &'static str {
    lang.pick("stopping", "正在停止")
}
