/// A node of a YAML document, with its position in the file.
///
/// Scalars have no type: `no`, `~` and `1e3` are texts. The decoder that reads a value decides what its text means.
struct MarkedNode: Sendable {
  enum Content: Sendable {
    case scalar(String, ScalarStyle)
    case mapping([Pair])
    case sequence([MarkedNode])
    /// A node that was refused and reported, such as an alias. Nothing more is reported about it.
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
  /// The offsets in the ``SourceText``.
  var range: Range<Int>

  /// Whether the value is empty, as after `key:` at the end of a line.
  var isEmpty: Bool {
    if case .scalar("", .plain) = content { true } else { false }
  }

  /// The text of a scalar; nil for other nodes.
  var text: String? {
    if case .scalar(let text, _) = content { text } else { nil }
  }

  var isRefused: Bool {
    if case .refused = content { true } else { false }
  }

  /// The sort of node in words, for messages.
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
