public import CDModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension FetchPredicate {
  /// The condition of a `#Predicate`, as a tree like any other: with the same answer in memory and in a store.
  ///
  /// ```swift
  /// let condition = try FetchPredicate(#Predicate<Book> { $0.title == "Walden" && $0.reviewCount > 2 })
  /// print(condition)  // title == "Walden" AND reviewCount > 2
  /// ```
  ///
  /// The classes must know their key paths: `keyPaths: true` in `model.yaml`. Translated are comparisons, `&&`, `||`,
  /// `!`, arithmetic, `??`, optional chaining, `?:`, ranges, `contains`, `starts(with:)`, `allSatisfy`, `filter`,
  /// `min()`, `max()`, `count` and `isEmpty` of collections, regular expressions, and other objects by their
  /// ``ManagedObject/objectID``. `!` behind an optional is passed over: what is nil meets no comparison but with nil.
  ///
  /// The answers are those of Foundation: what is asked of nil behind `?` or in `flatMap` is nil, and the empty text is
  /// in every text, unlike in a format string. But for one: texts are equal where their code units are.
  ///
  /// - Throws: ``PredicateTranslationError``, naming what cannot be translated.
  public init<Object: EntityClass>(_ predicate: Predicate<Object>) throws {
    var translator = PredicateTranslator()
    self = try translator.condition(of: predicate, standingFor: .object)
  }
}

extension TypedPredicate where Root: EntityClass {
  /// The condition of a `#Predicate`, to be combined with those of key paths.
  ///
  /// - Throws: ``PredicateTranslationError``, naming what cannot be translated.
  public init(_ predicate: Predicate<Root>) throws {
    try self.init(FetchPredicate(predicate))
  }
}

extension EntityClass {
  /// The objects that meet a `#Predicate`, in an order.
  ///
  /// ```swift
  /// let books = try Book.fetch(where: #Predicate { $0.reviewCount > 2 }, sortedBy: [.ascending(\.title)], in: context)
  /// ```
  ///
  /// - Throws: ``PredicateTranslationError``, ``FetchError`` or ``StoreError``.
  public static func fetch(
    where predicate: Predicate<Self>, sortedBy order: [TypedSort<Self>] = [], limit: Int? = nil,
    offset: Int = 0,
    in context: ManagedObjectContext
  ) throws -> [Self] {
    try fetch(where: TypedPredicate(predicate), sortedBy: order, limit: limit, offset: offset, in: context)
  }

  /// The count of the objects that meet a `#Predicate`.
  ///
  /// - Throws: ``PredicateTranslationError``, ``FetchError`` or ``StoreError``.
  public static func count(where predicate: Predicate<Self>, in context: ManagedObjectContext) throws -> Int {
    try count(where: TypedPredicate(predicate), in: context)
  }
}
