import CDModel

/// A pattern of LIKE. `*` matches any text, and `?` matches one code point. After a backslash, a character has no
/// special meaning.
///
/// Under options that ignore differences, the keys of ``TextKeys`` are compared, in which marks have the canonical order.
/// Then `?` matches one letter with all its marks, so that canonically equivalent texts match alike.
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
  /// The options that ignore differences; empty if code points are compared.
  private let options: ComparisonOptions

  init(_ pattern: String, _ options: ComparisonOptions) {
    self.options =
      options.contains(.normalized) ? [] : options.intersection([.caseInsensitive, .diacriticInsensitive])
    let pattern = self.options.isEmpty ? pattern : FoundationText.decomposed(pattern)
    var maker = TextKeyMaker(self.options)
    var tokens: [Token] = []
    var isEscaped = false
    for scalar in pattern.unicodeScalars {
      if scalar == "\\", !isEscaped {
        isEscaped = true
        continue
      }
      // A wildcard has a key too: the marks behind it are those of a letter.
      var key = String.UnicodeScalarView()
      maker.append(scalar, to: &key)
      switch scalar {
      case "*" where !isEscaped:
        if tokens.last != .any { tokens.append(.any) }
      case "?" where !isEscaped: tokens.append(.one)
      default: tokens += key.map { Token.scalar($0.value) }
      }
      isEscaped = false
    }
    // A backslash at the end stands for itself.
    if isEscaped { tokens.append(.scalar(0x5C)) }
    self.tokens = tokens
  }

  /// Returns whether the pattern matches the whole text.
  func matches(_ text: String) -> Bool {
    if options.isEmpty {
      let scalars = text.unicodeScalars.map { $0.value }
      return matches(scalars, Array(repeating: true, count: scalars.count))
    }
    if let bytes = TextComparison.ascii(text) {
      let folds = options.contains(.caseInsensitive)
      let scalars = bytes.map { UInt32(folds ? TextComparison.lowercased($0) : $0) }
      return matches(scalars, Array(repeating: true, count: scalars.count))
    }
    var scalars: [UInt32] = []
    // Whether a letter of the text starts at an index of `scalars`. The key of a letter may have several parts, but `?`
    // matches all of them together.
    var starts: [Bool] = []
    var maker = TextKeyMaker(options)
    for scalar in FoundationText.decomposed(text).unicodeScalars {
      if let part = maker.asciiKey(scalar) {
        scalars.append(part.value)
        starts.append(true)
        continue
      }
      var isFirst = scalars.isEmpty || !Self.continuesLetter(scalar)
      var key = String.UnicodeScalarView()
      maker.append(scalar, to: &key)
      for part in key {
        scalars.append(part.value)
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

  /// Whether a scalar of a decomposed text belongs to the letter before it: a mark, or the vowel or the last consonant of
  /// a Korean syllable.
  private static func continuesLetter(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isMark || (0x1160...0x11FF).contains(scalar.value)
  }
}
