/// A node of a YAML document with its place in the file.
///
/// No scalar is given a type: `no`, `~` and `1e3` are texts, and what a text means is decided by whoever
/// knows what should stand there.
struct MarkedNode: Sendable {
  enum Content: Sendable {
    case scalar(String, ScalarStyle)
    case mapping([Pair])
    case sequence([MarkedNode])
    /// What was refused and reported already, such as an alias. Nothing more is said about it.
    case refused
  }

  struct Pair: Sendable {
    /// The key's text.
    var name: String
    var key: MarkedNode
    var value: MarkedNode
  }

  enum ScalarStyle: Sendable {
    case plain, singleQuoted, doubleQuoted, literal, folded
  }

  var content: Content
  /// Offsets in the ``SourceText``.
  var range: Range<Int>

  /// Whether nothing at all was written, as after `key:` at the end of a line.
  var isEmpty: Bool {
    if case .scalar("", .plain) = content { true } else { false }
  }

  /// The text of a scalar, nil for the other kinds.
  var text: String? {
    if case .scalar(let text, _) = content { text } else { nil }
  }

  var isRefused: Bool {
    if case .refused = content { true } else { false }
  }

  /// What the node is, for messages.
  var kindName: String {
    switch content {
    case .scalar("", .plain): "nothing"
    case .scalar(let text, _) where text.unicodeScalars.count <= 40 && !text.contains("\n"): "'\(text)'"
    case .scalar: "a text"
    case .mapping: "a mapping"
    case .sequence: "a list"
    case .refused: "what was refused"
    }
  }
}
