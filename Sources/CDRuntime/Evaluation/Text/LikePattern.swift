import CDModel

/// A pattern of LIKE. `*` matches any text, and `?` matches one code point. After a backslash, a character has no
/// special meaning.
///
/// In the worst case, a match takes time proportional to the length of the text times the length of the pattern. After
/// a mismatch, it only returns to the last `*`, never to an earlier one.
struct LikePattern {
  private enum Token: Equatable {
    case any
    case one
    case scalar(UInt32)
  }

  private let tokens: [Token]
  private let options: ComparisonOptions

  init(_ pattern: String, _ options: ComparisonOptions) {
    self.options = options.contains(.normalized) ? [] : options
    var tokens: [Token] = []
    var isEscaped = false
    for scalar in pattern.unicodeScalars {
      switch scalar {
      case "\\" where !isEscaped:
        isEscaped = true
        continue
      case "*" where !isEscaped:
        if tokens.last != .any { tokens.append(.any) }
      case "?" where !isEscaped: tokens.append(.one)
      default:
        tokens += Self.folded(scalar, self.options).map { Token.scalar($0) }
      }
      isEscaped = false
    }
    // A backslash at the end stands for itself.
    if isEscaped { tokens.append(.scalar(0x5C)) }
    self.tokens = tokens
  }

  /// Returns whether the pattern matches the whole text.
  func matches(_ text: String) -> Bool {
    var scalars: [UInt32] = []
    // Whether a code point of the text starts at an index of `scalars`. A code point may fold to several parts, but `?`
    // matches all of them together.
    var starts: [Bool] = []
    for scalar in text.unicodeScalars {
      var isFirst = true
      for part in Self.folded(scalar, options) {
        scalars.append(part)
        starts.append(isFirst)
        isFirst = false
      }
    }
    return matches(scalars, starts)
  }

  private func matches(_ scalars: [UInt32], _ starts: [Bool]) -> Bool {
    func next(_ index: Int) -> Int {
      var index = index + 1
      while index < starts.count, !starts[index] { index += 1 }
      return index
    }
    var index = 0
    var token = 0
    var retry: (token: Int, index: Int)?
    while true {
      if token < tokens.count, tokens[token] == .any {
        token += 1
        if token == tokens.count { return true }
        retry = (token, index)
        continue
      }
      if index == scalars.count, token == tokens.count { return true }
      if token < tokens.count, index < scalars.count {
        switch tokens[token] {
        case .scalar(scalars[index]):
          index += 1
          token += 1
          continue
        case .one where starts[index]:
          index = next(index)
          token += 1
          continue
        default: break
        }
      }
      guard let last = retry, last.index < scalars.count else { return false }
      retry = (last.token, next(last.index))
      token = last.token
      index = next(last.index)
    }
  }

  /// Returns a code point as the options compare it: folded, decomposed, without diacritics.
  private static func folded(_ scalar: Unicode.Scalar, _ options: ComparisonOptions) -> [UInt32] {
    if options.isEmpty || options == .localeSensitive { return [scalar.value] }
    if scalar.value < 0x80 {
      let isUpper = scalar.value >= 0x41 && scalar.value <= 0x5A
      return [isUpper && options.contains(.caseInsensitive) ? scalar.value | 0x20 : scalar.value]
    }
    if options.contains(.diacriticInsensitive), scalar.properties.generalCategory == .nonspacingMark {
      // Folding keeps a mark that stands alone. After a letter, folding removes the mark.
      let folded = FoundationText.folded("a" + String(scalar), options)
      if folded == "a" { return [] }
    }
    let text = FoundationText.folded(String(scalar), options)
    return FoundationText.decomposed(text).unicodeScalars.map(\.value)
  }
}
