"""What models of sequences of unequal length share: padding, masks, recurrent networks, losses and scores."""
