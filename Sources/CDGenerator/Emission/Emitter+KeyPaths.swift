extension Emitter {
  /// The table of a class's key paths, those of inherited properties among them.
  mutating func keyPaths(_ declaration: ClassDeclaration) {
    keyPaths("override class", of: declaration.expression, declaration.properties, isObject: true)
  }

  /// - Parameter properties: Each one's name in the model, as a string literal, and in Swift.
  mutating func keyPaths(
    _ modifiers: String, of type: String, _ properties: [(key: String, name: String)],
    isObject: Bool = false
  ) {
    guard listsKeyPaths, isObject || !properties.isEmpty else { return }
    let names = properties.map { $0.key.dropFirst().dropLast() }.joined(separator: " ")
    out.open(spi, modifiers, " var _keyPaths: CDRuntime.KeyPathTable")
    let paths = properties.map { "\\" + type + "." + $0.name }.joined(separator: ", ")
    out.line(".init(\"", names, "\", [", paths, "]", isObject ? ", objectID: \\" + type + ".objectID)" : ")")
    out.close()
  }
}
